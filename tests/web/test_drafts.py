"""Drafts follow their chat, never replace newer typing, and end with the send."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.web.live_server import Client, LiveServer, live_server


def save(client: Client, session_id: str, text: str, **fields: object) -> dict[str, object]:
    answer = client.post("/api/session/draft", {"session_id": session_id, "text": text, **fields})
    assert answer.status == 200, answer.raw
    return dict(answer.json["session"]["draft"])


def test_a_draft_outlives_a_restart_and_changes_no_order(tmp_path: Path) -> None:
    with live_server(tmp_path) as live:
        session_id = live.client.new_session(title="A")
        before = live.client.session(session_id)
        save(live.client, session_id, "half a tho", attachments=["blob:x"])
    with live_server(tmp_path) as live:
        after = live.client.session(session_id)
        assert (after["draft"]["text"], after["draft"]["attachments"]) == ("half a tho", ["blob:x"])
        assert (after["revision"], after["updated_at"]) == (before["revision"], before["updated_at"])


def test_an_older_version_is_refused_with_the_stored_draft(client: Client) -> None:
    session_id = client.new_session()
    first = save(client, session_id, "one", version=0)
    save(client, session_id, "two", version=first["version"])
    answer = client.post("/api/session/draft", {"session_id": session_id, "text": "late", "version": 0})
    assert (answer.status, answer.json["code"]) == (409, "stale_revision")
    assert answer.json["details"]["draft"]["text"] == "two"
    assert client.session(session_id)["draft"]["text"] == "two"


def test_the_largest_version_is_the_last_and_loses_nothing(client: Client) -> None:
    session_id = client.new_session()
    save(client, session_id, "one", version=2**53)
    assert client.session(session_id)["draft"]["text"] == "one"
    save(client, session_id, "two", version=2**53)
    assert client.session(session_id)["draft"]["text"] == "two"


def test_an_empty_chat_is_listed_while_somebody_types_in_it(client: Client) -> None:
    session_id = client.new_session()
    listed = lambda: [row["session_id"] for row in client.get("/api/sessions").json["sessions"]]  # noqa: E731
    assert listed() == []
    save(client, session_id, "h")
    assert listed() == [session_id]
    save(client, session_id, "")
    assert listed() == []


@pytest.mark.parametrize(
    ("typed", "left"), [("hello wor", ""), ("hello world", ""), ("another one", "another one")]
)
def test_a_send_ends_the_draft_of_its_text_and_no_other(client: Client, typed: str, left: str) -> None:
    session_id = client.new_session()
    save(client, session_id, typed)
    client.events(client.send(session_id, "hello world").json["stream_id"])
    assert client.session(session_id)["draft"]["text"] == left


@pytest.mark.parametrize(
    ("sent", "left"),
    [([], ["blob:a", "blob:b"]), (["b"], ["blob:a", "blob:b"]), (["b", {"id": "blob:a", "size": 1}], [])],
)
def test_a_draft_stays_until_its_files_were_sent_too(
    live: LiveServer, sent: list[Any], left: list[str]
) -> None:
    session_id = live.client.new_session(title="A")
    draft = {"session_id": session_id, "text": "", "attachments": ["blob:a", "blob:b"]}
    assert live.client.post("/api/session/draft", draft).status == 200
    live.services.drafts.sent(session_id, "hello", sent)
    assert live.client.session(session_id)["draft"]["attachments"] == left


def test_a_refused_send_keeps_the_draft(client: Client) -> None:
    session_id = client.new_session()
    save(client, session_id, "hello")
    assert client.send(session_id, "hello", expected_revision=99).status == 409
    assert client.session(session_id)["draft"]["text"] == "hello"


DAMAGES = [
    b"",
    b"[]",
    b'{"text": 7, "attachments": [], "draft_version": 1, "updated_at": 1}',
    b'{"text": "x", "attachments": [], "draft_version": 1e30, "updated_at": 1}',
    b'{"text": "x", "attachments": [], "draft_version": 1, "updated_at": "nan"}',
    b'{"text": "x", "attachments": %s, "draft_version": 1, "updated_at": 1}' % (b"[" * 400 + b"]" * 400),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_draft_hides_nothing(live: LiveServer, damage: bytes) -> None:
    session_id = live.client.new_session(title="A")
    save(live.client, session_id, "hello")
    (live.services.settings.state_dir / "drafts" / f"{session_id}.json").write_bytes(damage)
    assert live.client.session(session_id)["draft"]["text"] == ""
    assert save(live.client, session_id, "again")["text"] == "again"


def test_a_draft_of_a_chat_that_is_gone_is_refused_and_its_file_goes_with_the_trash(live: LiveServer) -> None:
    session_id = live.client.new_session(title="A")
    save(live.client, session_id, "hello")
    live.client.post("/api/session/delete", {"session_id": session_id})
    answer = live.client.post("/api/session/draft", {"session_id": session_id, "text": "x"})
    assert (answer.status, answer.json["code"]) == (404, "not_found")
    live.services.housekeep()
    live.client.post("/api/session/restore", {"session_id": session_id})
    assert live.client.session(session_id)["draft"]["text"] == "hello"
    live.client.post("/api/session/delete", {"session_id": session_id})
    live.client.post("/api/trash/purge", {"session_id": session_id})
    live.services.housekeep()
    assert list((live.services.settings.state_dir / "drafts").iterdir()) == []


def test_an_undo_and_a_draft_at_the_same_moment_lose_neither(client: Client) -> None:
    session_id = client.new_session()
    with ThreadPoolExecutor(3) as pool:
        for number in range(15):
            client.events(client.send(session_id, f"u{number}").json["stream_id"])
            undo = pool.submit(client.post, "/api/session/undo", {"session_id": session_id})
            draft = pool.submit(save, client, session_id, f"d{number}")
            title = pool.submit(
                client.post, "/api/session/rename", {"session_id": session_id, "title": f"t{number}"}
            )
            assert undo.result().status == title.result().status == 200
            assert draft.result()["text"] == f"d{number}"
            session = client.session(session_id)
            assert (session["messages"], session["title"]) == ([], f"t{number}")
            assert session["draft"]["text"] == f"d{number}"
