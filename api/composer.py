"""What a person has composed and sends: a command, a turn, or another wording of a message."""

from dataclasses import replace
from typing import Any

from api.commands.dispatcher import Dispatcher, Ran
from api.errors import InvalidRequest
from api.sessions.blobs import Blobs
from api.sessions.drafts import Drafts
from api.turns.begin import Sending
from api.turns.runner import Started, TurnRunner


class Composer:
    """Takes what is sent, for every surface; its attachments are ids of uploaded files, or upload answers.

    Each method raises `InvalidRequest` where a message is empty or a file is not there.
    """

    def __init__(self, commands: Dispatcher, runner: TurnRunner, blobs: Blobs, drafts: Drafts) -> None:
        self._commands = commands
        self._runner = runner
        self._blobs = blobs
        self._drafts = drafts

    def submit(
        self, session_id: str, sending: Sending, *, may_queue: bool = True, revision: int | None = None
    ) -> Ran | Started:
        """Run the command that a text is; send everything else."""
        if isinstance(sending.content, str):
            ran = self._commands.run(session_id, sending.content)
            if ran is not None:
                return ran
        return self.send(session_id, sending, may_queue=may_queue, revision=revision)

    def send(
        self, session_id: str, sending: Sending, *, may_queue: bool = True, revision: int | None = None
    ) -> Started:
        """Start or queue a turn, also with a text that looks like a command; its draft is forgotten."""
        taken = self._take(sending)
        started = self._runner.send(session_id, taken, may_queue=may_queue, revision=revision)
        text = sending.content if isinstance(sending.content, str) else ""
        self._drafts.sent(session_id, text, sending.attachments or ())
        return started

    def edit(
        self, session_id: str, message_id: int, sending: Sending, revision: int | None = None
    ) -> Started:
        """Ask with another wording of a message; no command, and the draft stays."""
        return self._runner.edit(session_id, message_id, self._take(sending), revision)

    def _take(self, sending: Sending) -> Sending:
        """What is sent with all its files in the blob store and named as a message keeps them."""
        named = sending.attachments
        attachments = None if named is None else self._blobs.attachments(named)
        content = self._blobs.take_inline(_content(sending.content, bool(attachments)))
        return replace(sending, content=content, attachments=attachments)


def _content(content: Any, may_be_empty: bool) -> Any:
    if isinstance(content, str) and (content.strip() or may_be_empty):
        return content
    if content is None and may_be_empty:
        return ""
    if isinstance(content, list) and content:
        return content
    raise InvalidRequest("The message is empty.")
