"""The functions that shells call by name, in the process of the server and without one."""

import pytest

from api import session_ops
from tests.web.live_server import LiveServer


def test_without_a_server_they_say_so() -> None:
    with pytest.raises(RuntimeError, match="no server in this process"):
        session_ops.undo_last("s1")


def test_they_act_on_the_server_of_this_process(live: LiveServer) -> None:
    session_id = live.client.new_session()
    live.client.events(live.client.send(session_id, "u1").json["stream_id"])
    live.client.events(live.client.send(session_id, "u2").json["stream_id"])
    assert session_ops.session_status(session_id)["message_count"] == 4
    assert session_ops.session_usage(session_id)["turns"] == 2
    assert session_ops.retry_last(session_id)["last_user_text"] == "u2"
    assert session_ops.undo_last(session_id)["removed_text"] == "u1"
    with pytest.raises(ValueError, match="Nothing to undo"):
        session_ops.undo_last(session_id)
    with pytest.raises(KeyError, match="Session not found"):
        session_ops.session_status("20260101_000000_aaaaaa")
