"""Search over HTTP."""

from urllib.parse import quote

import pytest

from tests.web.live_server import Client


def test_a_hit_names_its_message(client: Client) -> None:
    session_id = client.new_session(title="Trips")
    client.send(session_id, "Where is 東京 tower?")
    answer = client.get("/api/sessions/search?q=" + quote("東京")).json
    assert (answer["count"], answer["next"]) == (1, None)
    (hit,) = answer["results"]
    assert hit["snippet"] == "Where is 東京 tower?"
    assert (hit["session_id"], hit["message_id"], hit["role"]) == (session_id, 1, "user")
    assert (hit["match_type"], hit["title"], hit["undone"]) == ("message", "Trips", False)


@pytest.mark.parametrize(
    "query", ["", "q=", "q=%22", "q=a&limit=0", "q=a&limit=101", "q=a&before=x", "q=" + "a" * 1001]
)
def test_a_search_that_is_none_is_refused(client: Client, query: str) -> None:
    answer = client.get(f"/api/sessions/search?{query}")
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")
