"""The shape of the page's code: small modules that say their job, and no way past the CSP."""

import re
from pathlib import Path

import pytest

from tests.page.conftest import CHECKOUT

MODULES = sorted((CHECKOUT / "static" / "js").glob("*.js"))
LONGEST_MODULE = 200
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\bstyle="
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_is_short_says_its_job_and_makes_no_markup(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("/** ")
    assert len(text.splitlines()) <= LONGEST_MODULE
    # One module makes elements of HTML: of what the server has cleaned.
    assert set(FORBIDDEN.findall(text)) == ({"innerHTML"} if path.name == "markup.js" else set())


def test_the_shell_has_no_inline_code_and_nothing_from_elsewhere() -> None:
    shell = (CHECKOUT / "templates" / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"\son[a-z]+=|\sstyle=|<style|<script(?! type=\"module\" src=\"static/)", shell)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", shell)
