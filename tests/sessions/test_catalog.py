"""The list of sessions follows the files, whatever happens to it."""

import sqlite3

import pytest

from api.errors import InvalidRequest, StorageFailed, Unavailable
from api.sessions.catalog import Catalog
from tests.conftest import House, build_house

BEYOND_SQLITE = b'[99999999999999999999,1,"x"]'.hex()


def fill(house: House, count: int) -> list[str]:
    ids = []
    for number in range(count):
        session = house.new_session(title=f"chat {number}", updated_at=float(number))
        ids.append(session.session_id)
    return ids


def listed(catalog: Catalog, **query: object) -> list[str]:
    return [row.session_id for row in catalog.page(**query).rows]  # type: ignore[arg-type]


def test_newest_activity_comes_first_and_pinned_ahead(house: House) -> None:
    ids = fill(house, 4)
    with house.store.edit(ids[1]) as session:
        session.pinned = True
    assert listed(house.catalog) == [ids[1], ids[3], ids[2], ids[0]]


def test_a_row_shows_the_last_words_also_where_the_last_reply_has_none(house: House) -> None:
    session_id = house.new_session().session_id
    with house.store.edit(session_id) as session:
        session.append("user", "Will this work?", 1.0)
        session.append("assistant", "", 2.0)
    (row,) = house.catalog.page().rows
    assert (row.snippet, row.message_count) == ("Will this work?", 2)


def test_pages_follow_each_other_without_gap_or_repeat(house: House) -> None:
    ids = fill(house, 7)
    seen, before = [], None
    while True:
        page = house.catalog.page(limit=3, before=before)
        seen += [row.session_id for row in page.rows]
        assert page.total == 7
        before = page.next
        if before is None:
            break
    assert seen == list(reversed(ids))


def test_a_chat_whose_file_somebody_has_removed_is_not_listed(house: House) -> None:
    ids = fill(house, 3)
    house.store.path(ids[1]).unlink()
    page = house.catalog.page()
    assert ([row.session_id for row in page.rows], page.total) == ([ids[2], ids[0]], 2)


def test_a_folder_that_somebody_has_removed_is_said_and_found_again(house: House) -> None:
    ids = fill(house, 2)
    folder, away = house.state_dir / "sessions", house.state_dir / "away"
    folder.rename(away)
    for _ in range(2):
        with pytest.raises(StorageFailed):
            house.catalog.page()
    away.rename(folder)
    assert listed(house.catalog) == [ids[1], ids[0]]


@pytest.mark.parametrize("cursor", ["x", "", "00", "5b5d", "6e756c6c", "ff", BEYOND_SQLITE])
def test_a_cursor_from_elsewhere_is_refused(house: House, cursor: str) -> None:
    with pytest.raises(InvalidRequest):
        house.catalog.page(before=cursor)


def test_an_empty_session_is_not_listed(house: House) -> None:
    session = house.new_session()
    assert listed(house.catalog) == []
    with house.store.edit(session.session_id) as edited:
        edited.append("user", "hello", 1.0)
    assert listed(house.catalog) == [session.session_id]


def test_a_damaged_file_is_listed_as_damaged_and_hides_nothing(house: House) -> None:
    ids = fill(house, 3)
    house.store.path(ids[1]).write_bytes(b"")
    house.catalog.reconcile()
    rows = {row.session_id: row.damaged for row in house.catalog.page().rows}
    assert rows == {ids[0]: False, ids[1]: True, ids[2]: False}
    assert house.store.path(ids[1]).read_bytes() == b""


@pytest.mark.parametrize("damage", [b"", b"garbage" * 1000, None])
def test_a_lost_or_broken_catalog_is_made_anew(house: House, damage: bytes | None) -> None:
    ids = fill(house, 3)
    house.close()
    path = house.state_dir / "catalog.db"
    for side in house.state_dir.glob("catalog.db-*"):
        side.unlink()
    path.unlink() if damage is None else path.write_bytes(damage)
    again = build_house(house.state_dir)
    assert listed(again.catalog) == list(reversed(ids))
    again.close()
    house.catalog = Catalog(path, house.store, lambda _session_id: False)


def test_a_catalog_that_breaks_while_it_is_open_fails_no_edit_and_no_list(house: House) -> None:
    ids = fill(house, 3)
    house.catalog._connection.close()
    with house.store.edit(ids[0]) as session:
        session.updated_at = 99.0
    assert listed(house.catalog) == [ids[0], ids[2], ids[1]]


def test_a_deleted_session_leaves_the_list(house: House) -> None:
    ids = fill(house, 2)
    with house.store.remove(ids[1]):
        pass
    assert listed(house.catalog) == [ids[0]]
    house.store.restore(ids[1])
    assert listed(house.catalog) == [ids[1], ids[0]]


def test_unread_means_a_reply_that_nobody_has_seen(house: House) -> None:
    session = house.new_session(title="x")
    with house.store.edit(session.session_id) as edited:
        edited.append("user", "q", 1.0)
        edited.append("assistant", "a", 1.0)
    assert house.catalog.page().rows[0].unread
    with house.store.edit(session.session_id) as edited:
        edited.seen = 2
    assert not house.catalog.page().rows[0].unread


def test_a_row_that_cannot_be_read_is_made_anew(house: House) -> None:
    ids = fill(house, 2)
    with sqlite3.connect(house.state_dir / "catalog.db") as other:
        other.execute("UPDATE sessions SET row = '{\"nonsense\": 1}'")
    other.close()
    assert listed(house.catalog) == [ids[1], ids[0]]


def test_a_catalog_that_another_program_locks_fails_no_edit_and_is_not_thrown_away(house: House) -> None:
    (session_id,) = fill(house, 1)
    foreign = sqlite3.connect(house.state_dir / "catalog.db", isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    with house.store.edit(session_id) as session:
        session.title = "meanwhile"
    with pytest.raises(Unavailable):
        house.catalog.page()
    foreign.execute("ROLLBACK")
    foreign.close()
    assert [row.title for row in house.catalog.page().rows] == ["meanwhile"]
    assert not list(house.state_dir.glob("catalog.db.damaged*"))
