"""What a person sends, the same for every surface: commands, turns, drafts."""

from pathlib import Path

import pytest

from api.commands.dispatcher import Ran
from api.errors import InvalidRequest, UnknownCommand
from api.services import Services
from api.turns.begin import Sending
from api.turns.runner import Started
from tests.conftest import wait_until
from tests.web.live_server import live_server


def wait_idle(services: Services, session_id: str) -> None:
    wait_until(lambda: services.runner.active(session_id) is None, "the end of the turn")


def test_a_submitted_command_runs_and_a_sent_one_is_a_text(tmp_path: Path) -> None:
    with live_server(tmp_path) as live:
        services, session_id = live.services, live.client.new_session()
        ran = services.composer.submit(session_id, Sending("/title Oslo"))
        assert isinstance(ran, Ran)
        assert (ran.command, services.store.load(session_id).title) == ("title", "Oslo")
        with pytest.raises(UnknownCommand):
            services.composer.submit(session_id, Sending("/nonsense"))
        assert live.client.contents(session_id) == []
        assert isinstance(services.composer.send(session_id, Sending("/title Rome")), Started)
        wait_idle(services, session_id)
        assert live.client.contents(session_id)[0] == "/title Rome"
        assert services.store.load(session_id).title == "Oslo"


def test_a_submitted_text_ends_its_draft_and_an_edit_leaves_it(tmp_path: Path) -> None:
    with live_server(tmp_path) as live:
        services, session_id = live.services, live.client.new_session()
        services.drafts.save(session_id, "hello")
        assert isinstance(services.composer.submit(session_id, Sending("hello")), Started)
        wait_idle(services, session_id)
        assert services.drafts.load(session_id).is_empty
        services.drafts.save(session_id, "hello")
        services.composer.edit(session_id, 1, Sending("hello again"))
        wait_idle(services, session_id)
        assert services.drafts.load(session_id).text == "hello"


@pytest.mark.parametrize("content", ["", " \n", None, []])
def test_an_empty_message_is_refused(tmp_path: Path, content: object) -> None:
    with live_server(tmp_path) as live:
        session_id = live.client.new_session()
        with pytest.raises(InvalidRequest, match="empty"):
            live.services.composer.submit(session_id, Sending(content))
