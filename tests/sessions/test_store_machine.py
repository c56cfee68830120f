"""The store under threads: whatever happens at once, it happens one after the other, and stays."""

import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from api.errors import NotFound, NothingToRedo, NothingToUndo, TalariaError
from api.files import sweep_temporaries
from api.sessions import tree
from api.sessions.codec import decode
from api.sessions.model import Session
from api.sessions.rows import row_of
from tests.conftest import House, build_house

NAMES = ("a", "b")
ACTS = ("append", "undo", "redo", "rename", "delete", "restore")
# What a change may be refused with when others come first; anything else is a defect.
REFUSALS = (NothingToUndo, NothingToRedo, NotFound)


class StoreMachine(RuleBasedStateMachine):
    """Bursts of changes from several threads on two sessions, with restarts between them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.house: House = build_house(self.folder)
        self.ids: dict[str, str] = {}
        self.texts: dict[str, list[str]] = {name: [] for name in NAMES}
        self.titles: dict[str, set[str]] = {name: {""} for name in NAMES}
        self.count = 0

    @initialize()
    def begin(self) -> None:
        self.ids = {name: self.house.new_session().session_id for name in NAMES}

    @rule(burst=st.lists(st.tuples(st.sampled_from(ACTS), st.sampled_from(NAMES)), min_size=2, max_size=8))
    def change_at_once(self, burst: list[tuple[str, str]]) -> None:
        barrier = threading.Barrier(len(burst))
        calls = [self.call(act, name, barrier) for act, name in burst]
        with ThreadPoolExecutor(len(calls)) as pool:
            revisions = [future.result() for future in [pool.submit(call) for call in calls]]
        for name in NAMES:
            seen = [r for r, (_, its) in zip(revisions, burst, strict=True) if its == name and r is not None]
            assert len(seen) == len(set(seen)), "two changes were made on top of the same state"

    def call(self, act: str, name: str, barrier: threading.Barrier) -> Callable[[], int | None]:
        """One change; its revision, or None where it was refused or has none."""
        self.count += 1
        work, text = getattr(self, f"_{act}"), f"{act} {self.count}"

        def run() -> int | None:
            barrier.wait(10)
            try:
                revision: int | None = work(name, text)
            except TalariaError as exc:
                assert isinstance(exc, REFUSALS) or act == "restore", exc
                return None
            return revision

        return run

    def _append(self, name: str, text: str) -> int:
        with self.house.store.edit(self.ids[name]) as session:
            tree.begin(session)
            session.append("user", text, 1.0)
        self.texts[name].append(text)
        return session.revision

    def _undo(self, name: str, _text: str) -> int:
        with self.house.store.edit(self.ids[name]) as session:
            tree.undo(session)
        return session.revision

    def _redo(self, name: str, _text: str) -> int:
        with self.house.store.edit(self.ids[name]) as session:
            tree.redo(session)
        return session.revision

    def _rename(self, name: str, text: str) -> int:
        with self.house.store.edit(self.ids[name]) as session:
            session.title, session.title_source = text, "user"
        self.titles[name].add(text)
        return session.revision

    def _delete(self, name: str, _text: str) -> None:
        self.house.runner.delete(self.ids[name])

    def _restore(self, name: str, _text: str) -> None:
        self.house.store.restore(self.ids[name])

    @rule()
    def start_again(self) -> None:
        self.house.close()
        self.house = build_house(self.folder)
        sweep_temporaries(self.house.state_dir)
        self.house.catalog.reconcile()

    @invariant()
    def every_acknowledged_text_is_there_once_and_in_one_place(self) -> None:
        for name, session_id in self.ids.items():
            session = self.stored(session_id)
            texts = Counter(message.content for message in session.messages)
            assert texts == Counter(self.texts[name])
            assert session.title in self.titles[name]
            assert [message.id for message in session.messages] == list(range(1, len(session.messages) + 1))

    @invariant()
    def the_list_says_what_the_files_say(self) -> None:
        for session_id in self.ids.values():
            row = self.house.catalog.row(session_id)
            if self.house.store.path(session_id).exists():
                assert row == row_of(self.house.store.load(session_id))
            else:
                assert row is None

    @invariant()
    def nothing_is_left_behind(self) -> None:
        assert not list((self.folder / "sessions").glob(".*"))

    def stored(self, session_id: str) -> Session:
        """The session in the one file that holds it, in the folder or in the trash."""
        kept: list[Any] = [entry.path for entry in self.house.store.trashed(session_id)]
        kept += [path] if (path := self.house.store.path(session_id)).exists() else []
        assert len(kept) == 1
        return decode(kept[0].read_bytes())

    def teardown(self) -> None:
        self.house.close()
        shutil.rmtree(self.folder)


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(max_examples=25, stateful_step_count=10, deadline=None)
