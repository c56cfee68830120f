"""Projects, tags, pins and the archive."""

from typing import Any

import pytest

from tests.web.live_server import Client


def change(client: Client, what: str, session_id: str, **fields: Any) -> Any:
    answer = client.post(f"/api/session/{what}", {"session_id": session_id, **fields})
    assert answer.status == 200, answer.raw
    return answer.json["session"]


def listed(client: Client, query: str) -> list[str]:
    return sorted(row["title"] for row in client.get(f"/api/sessions?{query}").json["sessions"])


def test_a_list_can_show_one_project_one_tag_or_the_pinned_ones(client: Client) -> None:
    ids = {title: client.new_session(title=title) for title in ("a", "b", "c")}
    change(client, "move", ids["a"], project="Home")
    change(client, "move", ids["b"], project="Home")
    change(client, "tags", ids["b"], tags=["x", "y"])
    change(client, "tags", ids["c"], tags=["y", "y", " ", "z"])
    change(client, "pin", ids["c"], pinned=True)
    assert listed(client, "project=Home") == ["a", "b"]
    assert listed(client, "tag=y") == ["b", "c"]
    assert listed(client, "project=Home&tag=y") == ["b"]
    assert listed(client, "pinned=true") == ["c"]
    assert listed(client, "pinned=false") == ["a", "b"]
    assert client.session(ids["c"])["tags"] == ["y", "z"]
    facets = client.get("/api/sessions/facets").json
    assert facets["projects"] == [{"name": "Home", "count": 2}]
    assert facets["tags"] == [{"name": n, "count": c} for n, c in (("x", 1), ("y", 2), ("z", 1))]


def test_a_filtered_list_goes_on_from_its_cursor(client: Client) -> None:
    for number in range(5):
        session_id = client.new_session(title=f"t{number}")
        if number % 2 == 0:
            change(client, "move", session_id, project="P")
    page = client.get("/api/sessions?project=P&limit=2").json
    assert (len(page["sessions"]), page["total"]) == (2, 3)
    rest = client.get(f"/api/sessions?project=P&limit=2&before={page['next']}").json
    assert (len(rest["sessions"]), rest["next"]) == (1, None)


def test_a_chat_leaves_its_project_by_null_or_a_blank_name(client: Client) -> None:
    session_id = client.new_session(title="a", project="P\u202e\n one")
    assert client.session(session_id)["project"] == "P one"
    assert change(client, "move", session_id, project=" ")["project"] is None
    assert change(client, "move", session_id, project=None)["project"] is None


def test_labels_change_neither_revision_nor_order(client: Client) -> None:
    session_id = client.new_session(title="a")
    before = client.session(session_id)
    change(client, "move", session_id, project="P")
    change(client, "tags", session_id, tags=["x"])
    after = change(client, "pin", session_id, pinned=True)
    assert (after["revision"], after["updated_at"]) == (before["revision"], before["updated_at"])


@pytest.mark.parametrize("tags", [None, "x", ["x"] * 51, [1], ["x" * 201]])
def test_odd_tags_are_refused(client: Client, tags: object) -> None:
    session_id = client.new_session(title="a")
    answer = client.post("/api/session/tags", {"session_id": session_id, "tags": tags})
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")
