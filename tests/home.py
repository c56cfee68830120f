"""A house whose memory records, and that can crash and start again."""

import shutil
from contextlib import suppress
from pathlib import Path

from api.session_making import SessionMaker
from api.session_ops import SessionOps
from api.sessions.erasing import Eraser
from api.sessions.model import Session
from api.sessions.outlook import Outlook
from api.turns.begin import Sending
from tests.conftest import build_house, wait_until
from tests.recording_memory import RecordingMemory


class Home:
    """A house whose memory records, and that can crash and start again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = RecordingMemory()
        self.start()

    def start(self) -> None:
        self.house = build_house(self.folder, self.memory)
        house = self.house
        eraser = Eraser(house.store, house.catalog, house.blobs)
        self.maker = SessionMaker(house.store, house.pool, house.clock, eraser, house.memory)
        self.ops = SessionOps(
            house.store, house.runner, house.pool, house.clock, eraser, house.drafts, house.memory
        )
        house.catalog.reconcile()
        house.runner.recover(house.catalog.running())

    def crash(self) -> None:
        """The files as a kill would leave them, under a new process."""
        left = self.folder
        self.folder = left.with_name(left.name + "+")
        shutil.copytree(left, self.folder, copy_function=_copy_if_there)
        self.house.close()
        self.start()

    def new(self) -> str:
        return self.house.new_session().session_id

    def say(self, session_id: str, text: str = "hello") -> None:
        self.house.runner.send(session_id, Sending(text))
        self.house.wait_idle(session_id)

    def boundary(self, session_id: str) -> None:
        self.house.memory.lifecycle.commit_boundary(session_id)

    def settle(self) -> None:
        """Wait until memory is in step with every line."""
        wait_until(lambda: not any(o.is_out_of_step for o in self.outlooks().values()), "memory in step")

    def outlooks(self) -> dict[str, Outlook]:
        return self.house.catalog.for_memory()

    def load(self, session_id: str) -> Session:
        return self.house.store.load(session_id)

    def told(self, session_id: str) -> list[str | None]:
        return [turn.memory for turn in self.load(session_id).turns]


def _copy_if_there(source: str, target: str) -> None:
    """Copy a file; one that goes at this moment is gone after the crash too."""
    with suppress(FileNotFoundError):
        shutil.copy2(source, target)
