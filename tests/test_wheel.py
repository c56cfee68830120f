"""The wheel of the project holds all that a server needs."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.server_process import CHECKOUT, SERVE, ServerProcess

PARTS = ("api", "static", "templates", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """A folder with what the wheel of this checkout holds."""
    source, wheels, target = tmp_path / "source", tmp_path / "wheels", tmp_path / "unpacked"
    source.mkdir()
    for name in PARTS:
        copy = shutil.copytree if (CHECKOUT / name).is_dir() else shutil.copy
        copy(CHECKOUT / name, source / name)
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(wheels), str(source)]
    subprocess.run(words, check=True, timeout=300)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def test_a_server_starts_from_the_wheel_with_its_page(unpacked: Path, tmp_path: Path) -> None:
    start = f"import sys; sys.path.insert(0, {str(unpacked)!r}); {SERVE}"
    environ = dict(os.environ) | {"PYTHONSAFEPATH": "1"}
    flags = ("--openai-base-url", "http://127.0.0.1:9/v1")
    with ServerProcess(tmp_path / "state", *flags, words=("-c", start), environ=environ) as server:
        client = server.wait_listening()
        shell = client.get("/")
        assert (shell.status, b'src="static/js/main.js"' in shell.raw) == (200, True)
        for path in ("js/main.js", "css/tokens.css", "icon.svg"):
            assert client.get(f"/static/{path}").status == 200
        assert client.get("/static/../setup.cfg").status in (400, 404)
        assert (unpacked / "api" / "agents" / "sidecar.py").is_file()
        server.stop()
