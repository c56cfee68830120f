"""Search finds what is shown, newest first, and nothing that left the line."""

import sqlite3

import pytest

from api.errors import InvalidRequest
from api.sessions import tree
from api.sessions.search import Scope, Search
from tests.conftest import House, build_house


def chat(house: House, *texts: str, title: str = "", start: float = 1000.0) -> str:
    """A session whose messages are `texts`, user and assistant in turn, a second apart."""
    session = house.new_session(title=title, created_at=start)
    with house.store.edit(session.session_id) as edited:
        for number, text in enumerate(texts):
            edited.append(("user", "assistant")[number % 2], text, start + number)
    return session.session_id


def found(house: House, query: str, **scope: bool) -> list[tuple[str, int | None]]:
    page = Search(house.store, house.catalog).find(query, 50, scope=Scope(**scope))
    return [(result.session_id, result.message_id) for result in page.results]


def test_the_newest_message_comes_first_whatever_was_written_last(house: House) -> None:
    new = chat(house, "a walk in Oslo", "fine", start=2000.0)
    old = chat(house, "Oslo?", "In Norway.", start=1000.0)
    assert found(house, "oslo") == [(new, 1), (old, 1)]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("naïve Ångström", "naive angstrom"),
        ("今日は東京に行く", "東京"),
        ("今日は東京に行く", "行"),
        ("ラーメンを食べる", "ーメ"),
        ("สวัสดีครับ", "ดีค"),
        ("running the tests", "test"),
        ("running the tests", "run* the"),
        ('say "hello world" twice', '"hello world"'),
        ("state_db and foo-bar(baz)", "foo-bar(baz)"),
        ("it's 100% sure", "100%"),
        ("AND OR NOT NEAR", "and or not near"),
        ("column: text", "text:"),
        ("a*b", "a*b"),
    ],
)
def test_words_are_found(house: House, text: str, query: str) -> None:
    session_id = chat(house, text)
    assert found(house, query) == [(session_id, 1)]


@pytest.mark.parametrize("query", ["京東", '"world hello"', "oslo paris", "unning", '"hello wor'])
def test_what_does_not_stand_there_is_not_found(house: House, query: str) -> None:
    chat(house, "今日は東京に行く", "hello world, running to oslo")
    assert found(house, query) == []


@pytest.mark.parametrize("query", ["", " ", "*", '"', '""', "()", "- +", "😀", "\0", "^"])
def test_a_query_without_a_word_is_refused(house: House, query: str) -> None:
    with pytest.raises(InvalidRequest):
        found(house, query)


@pytest.mark.parametrize("cursor", ["x", "-1", "9" * 19, "٣", "1e5"])
def test_a_cursor_from_elsewhere_is_refused(house: House, cursor: str) -> None:
    with pytest.raises(InvalidRequest):
        Search(house.store, house.catalog).find("oslo", 5, cursor)


def test_the_snippet_shows_the_text_as_it_was_written(house: House) -> None:
    chat(house, "word " * 200 + "das 東京 Café 😀 end" + " word" * 200)
    (result,) = Search(house.store, house.catalog).find("café", 5).results
    assert "das 東京 Café 😀 end" in result.snippet
    assert len(result.snippet) < 400


def test_titles_are_found_and_follow_a_rename(house: House) -> None:
    session_id = chat(house, "hello", title="Holiday in Oslo")
    assert found(house, "holiday") == [(session_id, None)]
    with house.store.edit(session_id) as session:
        session.title = "Work"
    assert found(house, "holiday") == []
    assert found(house, "work") == [(session_id, None)]


def test_undone_words_are_found_only_when_asked_for(house: House) -> None:
    session_id = chat(house, "alpha", "beta", "gamma", "delta")
    with house.store.edit(session_id) as session:
        tree.undo(session)
    assert found(house, "gamma") == []
    assert found(house, "gamma", undone=True) == [(session_id, 3)]
    with house.store.edit(session_id) as session:
        tree.redo(session)
    assert found(house, "gamma") == [(session_id, 3)]


def test_a_variant_that_can_be_shown_is_found(house: House) -> None:
    session_id = chat(house, "question", "first answer", "more", "and more")
    with house.store.edit(session_id) as session:
        tree.rewind_to_reply(session, session.message(1))
        session.append("assistant", "second answer", 2000.0)
    assert found(house, "answer") == [(session_id, 5), (session_id, 2)]
    assert found(house, "more") == [(session_id, 4), (session_id, 3)]


def test_archived_chats_are_found_only_when_asked_for(house: House) -> None:
    session_id = chat(house, "alpha")
    with house.store.edit(session_id) as session:
        session.archived = True
    assert found(house, "alpha") == []
    assert found(house, "alpha", archived=True) == [(session_id, 1)]


def test_a_deleted_chat_is_not_found_and_comes_back_with_its_restore(house: House) -> None:
    session_id = chat(house, "alpha")
    house.runner.delete(session_id)
    assert found(house, "alpha", undone=True, archived=True) == []
    house.store.restore(session_id)
    assert found(house, "alpha") == [(session_id, 1)]


def test_tool_results_and_notices_are_not_searched(house: House) -> None:
    session_id = chat(house, "alpha")
    with house.store.edit(session_id) as session:
        session.append("tool", "alpha output", 2000.0)
        session.append("assistant", "alpha notice", 2000.0, extra={"kind": "notice"})
    assert found(house, "alpha", undone=True) == [(session_id, 1)]


def test_pages_follow_each_other_without_gap_or_repeat(house: House) -> None:
    ids = [chat(house, "alpha", "beta", "alpha again", start=1000.0) for _ in range(7)]
    with house.store.edit(ids[3]) as session:
        tree.undo(session)
    search, seen, before = Search(house.store, house.catalog), [], None
    while True:
        page = search.find("alpha", 4, before)
        seen += [(result.session_id, result.message_id) for result in page.results]
        before = page.next
        if before is None:
            break
        assert len(page.results) == 4
    assert len(seen) == len(set(seen)) == 13


def test_a_catalog_made_anew_finds_the_same(house: House) -> None:
    for number in range(5):
        chat(house, "alpha one", "beta", "alpha two", title=f"alpha {number}", start=1000.0 + 10 * number)
    with house.store.edit(house.new_session().session_id) as session:
        session.append("user", [{"type": "text", "text": "alpha parts"}], 1.0)
    before = found(house, "alpha")
    assert len(before) == 16
    house.close()
    (house.state_dir / "catalog.db").unlink()
    again = build_house(house.state_dir)
    again.catalog.reconcile()
    assert found(again, "alpha") == before
    again.close()


def test_a_file_changed_behind_the_catalog_is_searched_as_it_is_now(house: House) -> None:
    session_id = chat(house, "alpha")
    path = house.store.path(session_id)
    path.write_bytes(path.read_bytes().replace(b"alpha", b"omega!"))
    house.catalog.reconcile()
    assert found(house, "alpha") == []
    assert found(house, "omega") == [(session_id, 1)]


def test_words_that_the_index_lost_are_made_anew(house: House) -> None:
    session_id = chat(house, "alpha")
    other = sqlite3.connect(house.state_dir / "catalog.db")
    other.execute("DROP TABLE words")
    other.close()
    assert found(house, "alpha") == [(session_id, 1)]
