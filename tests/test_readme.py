"""The README's table of settings and of exit codes is complete and true."""

import re
from collections.abc import Iterator

import pytest

from api.cli import CHECKOUT
from api.setting_rows import SETTINGS, Setting

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")


def rows_after(heading: str) -> Iterator[list[str]]:
    """The cells of the first table below a heading, without its head."""
    section = README.split(f"\n{heading}\n", 1)[1]
    table = re.search(r"^\|[\s-].*?\n\n", section, re.MULTILINE | re.DOTALL)
    assert table is not None
    for line in table.group().strip().splitlines()[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


SETTING_ROWS = {row[4]: row for row in rows_after("## Settings")}


def cell(word: str | None) -> str:
    return f"`{word}`" if word else "–"


def default_of(row: Setting) -> str:
    if row.is_switch:
        return "off"
    return cell(str(row.default)) if row.default not in (None, ()) else "–"


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.name)
def test_every_setting_has_its_row(row: Setting) -> None:
    expected = [cell(row.flag), cell(row.environment), cell(row.name if row.stored else None)]
    assert SETTING_ROWS[row.help] == [*expected, default_of(row), row.help]


def test_the_table_has_no_other_rows() -> None:
    assert set(SETTING_ROWS) == {row.help for row in SETTINGS}


def test_the_exit_codes_are_those_of_the_contract() -> None:
    assert [row[0] for row in rows_after("### Exit codes")] == ["0", "1", "2", "3", "4"]
