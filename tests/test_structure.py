"""The shape of the code: sizes, layers, boundaries, and that nothing is left out of a wheel."""

import ast
import configparser
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli import CHECKOUT, LINT_IMPORTS

API = CHECKOUT / "api"
MODULES = sorted(API.rglob("*.py"))
LONGEST_MODULE = 400
LONGEST_FUNCTION = 40
BROAD = {"Exception", "BaseException"}
# A broad handler stands where work of any kind is called, and logs what that raised: file and function.
BOUNDARIES = {"concurrency.py": {"attempt"}, "turns/worker.py": {"run"}, "session_lifecycle.py": {"_tell"}}


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(isinstance(node, ast.Name) and node.id in BROAD for node in ast.walk(handler.type))


@pytest.mark.parametrize("path", [*MODULES, CHECKOUT / "run.py"], ids=lambda path: path.name)
def test_no_module_and_no_function_is_too_long(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions(tree_of(path))}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_broad_except_stands_at_the_boundaries_only(path: Path) -> None:
    allowed = BOUNDARIES.get(path.relative_to(API).as_posix(), set())
    tree = tree_of(path)
    all_broad = {
        node.lineno for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and is_broad(node)
    }
    for function in functions(tree):
        if function.name in allowed:
            all_broad -= set(range(function.lineno, (function.end_lineno or 0) + 1))
    assert all_broad == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_every_module_says_its_job(path: Path) -> None:
    assert ast.get_docstring(tree_of(path))


def test_the_sidecar_needs_nothing_of_ours() -> None:
    tree = tree_of(API / "agents" / "sidecar.py")
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names - sys.stdlib_module_names == {"xllamacpp"}


def test_setup_cfg_lists_every_folder_that_a_wheel_needs() -> None:
    setup = configparser.ConfigParser()
    setup.read(CHECKOUT / "setup.cfg")
    listed = set(setup["options"]["packages"].split())
    on_disk = {".".join(path.parent.relative_to(CHECKOUT).parts) for path in API.rglob("__init__.py")}
    for room in ("static", "templates"):
        if not (CHECKOUT / room).is_dir():
            listed = {name for name in listed if not name.startswith(f"api.{room}")}
        files = [path for path in (CHECKOUT / room).rglob("*") if path.is_file()]
        on_disk |= {".".join(("api", *path.parent.relative_to(CHECKOUT).parts)) for path in files}
    assert listed == on_disk


VIOLATIONS = {
    "an import upwards": ("sessions/store.py", "import api.cli\n"),
    "an import between siblings": ("sessions/store.py", "import api.agents.base\n"),
    "an import inside a function": ("sessions/store.py", "def f():\n    from api.turns import x\n"),
    "an import for types": (
        "sessions/store.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import api.turns\n",
    ),
    "a room nobody listed": ("cupboard.py", ""),
    "a web library below": ("sessions/store.py", "import flask\n"),
}


@pytest.mark.parametrize("what", VIOLATIONS)
def test_the_layers_are_broken_by(what: str, tmp_path: Path) -> None:
    shutil.copytree(API, tmp_path / "api", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "setup.cfg", tmp_path)
    name, text = VIOLATIONS[what]
    with open(tmp_path / "api" / name, "a", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, '.'); {LINT_IMPORTS}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout
    assert "BROKEN" in done.stdout or "cupboard" in done.stdout + done.stderr
