"""Sessions over HTTP: made, listed, named, marked, deleted, restored; odd ids and titles."""

from urllib.parse import quote

import pytest
from freezegun import freeze_time

from tests.web.live_server import Client, LiveServer

ODD_IDS = [
    "CON", "aux", "nul.json", "com1", "LPT9", "abc.", "abc ", "a:b", "..", "../victim", "..\\x", "C:x", "",
    "/tmp/victim", "%2e%2e%2fx", "a" * 300, "a\0b", "é", "e\u0301", "ABC", ".", "a/b", "\ud83d",
]  # fmt: skip


@pytest.mark.parametrize("session_id", ODD_IDS, ids=ascii)
def test_an_odd_id_is_refused_on_every_route(live: LiveServer, session_id: str) -> None:
    victim = live.services.settings.state_dir / "victim.json"
    victim.write_text("untouched")
    before = sorted(path for path in live.services.settings.state_dir.rglob("*") if ".db" not in path.name)
    body = {"session_id": session_id, "title": "x", "message": "x", "text": "/status", "pinned": True}
    for rule in live.app.url_map.iter_rules():
        if not rule.rule.startswith(("/api/session/", "/api/chat/", "/api/command")):
            continue
        if "POST" in rule.methods and rule.rule != "/api/session/new":
            answer = live.client.post(
                rule.rule, body | {"message_id": 1, "archived": True, "turn_id": "t1", "position": 1}
            )
            assert 400 <= answer.status < 500, (rule.rule, answer.raw)
    if "\ud83d" not in session_id:
        for path in ("/api/session", "/api/session/status", "/api/session/usage"):
            assert live.client.get(f"{path}?session_id={quote(session_id)}").status in (400, 404)
    assert victim.read_text() == "untouched"
    after = sorted(path for path in live.services.settings.state_dir.rglob("*") if ".db" not in path.name)
    assert after == before


@pytest.mark.parametrize("session_id", ["20260406_164014_74b2d1", "api-0123456789abcdef"])
def test_a_real_id_that_nobody_has_is_not_found(client: Client, session_id: str) -> None:
    answer = client.get(f"/api/session?session_id={session_id}")
    assert (answer.status, answer.json) == (404, {"error": "Session not found", "code": "not_found"})
    for path in ("delete", "undo", "retry", "restore", "clear"):
        assert client.post(f"/api/session/{path}", {"session_id": session_id}).status == 404


def test_lists_are_paged_newest_first(client: Client) -> None:
    ids = [client.new_session(title=f"chat {number}") for number in range(5)]
    first = client.get("/api/sessions?limit=3").json
    assert ([row["session_id"] for row in first["sessions"]], first["total"]) == (ids[:1:-1], 5)
    second = client.get(f"/api/sessions?limit=3&before={first['next']}").json
    assert ([row["session_id"] for row in second["sessions"]], second["next"]) == (ids[1::-1], None)
    assert client.get("/api/sessions?before=nonsense").status == 400
    for limit in ("0", "501", "x", "-1", "1e3"):
        assert client.get(f"/api/sessions?limit={limit}").status == 400


def test_pinned_come_first_and_archived_apart(client: Client) -> None:
    ids = [client.new_session(title=f"chat {number}") for number in range(3)]
    client.post("/api/session/pin", {"session_id": ids[0], "pinned": True})
    client.post("/api/session/archive", {"session_id": ids[1], "archived": True})
    assert [row["session_id"] for row in client.get("/api/sessions").json["sessions"]] == [ids[0], ids[2]]
    assert [row["session_id"] for row in client.get("/api/sessions?archived=1").json["sessions"]] == [ids[1]]
    assert client.post("/api/session/pin", {"session_id": ids[0], "pinned": "yes"}).status == 400


def test_a_deleted_session_is_in_the_trash_until_it_is_purged(client: Client) -> None:
    session_id = client.new_session(title="x")
    assert client.post("/api/session/delete", {"session_id": session_id}).status == 200
    assert client.post("/api/session/delete", {"session_id": session_id}).status == 404
    trash = client.get("/api/trash").json
    (row,) = trash["sessions"]
    assert trash["total"] == 1 and row.pop("deleted_at") > 0
    assert row == {"session_id": session_id, "title": "x", "message_count": 0, "damaged": False}
    assert client.post("/api/session/restore", {"session_id": session_id}).json["session"]["title"] == "x"
    assert client.post("/api/session/restore", {"session_id": session_id}).status == 409
    client.post("/api/session/delete", {"session_id": session_id})
    assert client.post("/api/trash/purge", {"session_id": session_id}).json["purged"] == 1
    assert client.post("/api/session/restore", {"session_id": session_id}).status == 404


def test_the_trash_names_the_last_deleted_first_and_a_damaged_one_too(live: LiveServer) -> None:
    with freeze_time("2026-01-01 10:00:00") as frozen:
        for title in ("a", "b", "c"):
            session_id = live.client.new_session(title=title)
            live.client.post("/api/session/delete", {"session_id": session_id})
            frozen.tick(1)
    (broken,) = live.services.settings.state_dir.glob(f"trash/*-{session_id}.json")
    broken.write_bytes(b"{")
    rows = live.client.get("/api/trash?limit=2").json
    assert [(row["title"], row["damaged"]) for row in rows["sessions"]] == [("", True), ("b", False)]
    assert rows["total"] == 3


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("  a \n b\t", "a b"),
        ("\u202egnp.exe", "gnp.exe"),
        ("\u2067a\u2069", "a"),
        ("\u200b\u200b\u200b", ""),
        (" \n ", ""),
        ("<b>x</b>", "<b>x</b>"),
        ("a\0b\x1bc", "abc"),
        ("سلام report.pdf", "سلام report.pdf"),
        ("a" * 196 + FAMILY + "bcd", "a" * 196 + FAMILY + "bcd"),
        ("a" * 196 + FAMILY + "b" * 9, "a" * 196 + FAMILY + "..."),
        ("é" + "\u0301" * 30, "é" + "\u0301" * 4),
    ],
    ids=ascii,
)
def test_a_title_is_one_visible_line(client: Client, given: str, shown: str) -> None:
    session_id = client.new_session()
    answer = client.post("/api/session/rename", {"session_id": session_id, "title": given})
    assert answer.json["session"]["title"] == shown


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("a" * 5000, "a" * 57 + "..."),
        ("\u200b\u200b", ""),
        ("\u202egnp.exe", "gnp.exe"),
        (
            [{"type": "text", "text": "describe"}, {"type": "image_url", "image_url": {"url": "data:,"}}],
            "describe [image]",
        ),
        ([{"type": "image_url", "image_url": {"url": "data:,"}}], "[image]"),
        ([{"type": "hologram", "z": 1}], ""),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_the_first_words_become_the_title(live: LiveServer, message: object, title: str) -> None:
    session_id = live.client.new_session()
    live.client.events(live.client.send(session_id, message).json["stream_id"])
    assert live.client.session(session_id)["title"] == title


def test_an_undo_says_what_it_took(live: LiveServer) -> None:
    session_id = live.client.new_session()
    for text in ("x" * 40, "y" * 40 + FAMILY):
        live.client.events(live.client.send(session_id, text).json["stream_id"])
    second = live.client.post("/api/session/undo", {"session_id": session_id}).json
    assert (second["removed_preview"], second["removed_count"]) == ("y" * 40 + "...", 2)
    first = live.client.post("/api/session/undo", {"session_id": session_id, "count": 7}).json
    assert (first["removed_preview"], first["undone_turns"]) == ("x" * 40, 1)
    none = live.client.post("/api/session/undo", {"session_id": session_id})
    assert (none.status, none.json["error"]) == (409, "Nothing to undo.")
    assert (
        live.client.post("/api/session/redo", {"session_id": session_id, "count": 2}).json["restored_count"]
        == 4
    )


def test_retry_of_the_two_step_kind_hands_back_what_it_took(live: LiveServer) -> None:
    parts = [{"type": "text", "text": "describe"}, {"type": "image_url", "image_url": {"url": "data:,x"}}]
    session_id = live.client.new_session()
    live.client.events(live.client.send(session_id, parts).json["stream_id"])
    taken = live.client.post("/api/session/retry", {"session_id": session_id}).json
    assert (taken["content"], taken["removed_count"]) == (parts, 2)
    assert (
        live.client.post("/api/session/retry", {"session_id": session_id}).json["code"] == "nothing_to_retry"
    )
