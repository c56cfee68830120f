"""Session files under their lock: whole, durable, never shorter, never somebody else's."""

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from api.concurrency import Workers
from api.errors import Conflict, Damaged, InvalidRequest, NotFound, StaleRevision, Unavailable
from api.files import sweep_temporaries
from api.sessions.model import Session
from tests.conftest import House, build_house, wait_until
from tests.web.live_server import live_server

# fmt: off
ODD_IDS = [
    "CON", "con", "aux", "nul", "nul.json", "com1", "LPT9", "abc.", "abc ", "a:b", "..", "../x", "..\\x",
    "%2e%2e%2fx", "/tmp/victim", "C:x", "", "a" * 300, "a\0b", "é", "e\u0301", "ABC", "a/b", ".hidden", "a\n",
    "-a",
]
# fmt: on
REAL_IDS = ["20260406_164014_74b2d1", "api-0123456789abcdef", "a", "con1", "a" * 128]


def four_messages(house: House) -> Session:
    session = house.new_session()
    with house.store.edit(session.session_id) as edited:
        for text in ("u1", "a1", "u2", "a2"):
            edited.append("user" if text[0] == "u" else "assistant", text, 1.0)
    return house.store.load(session.session_id)


@pytest.mark.parametrize("session_id", ODD_IDS)
def test_an_odd_id_is_refused_before_a_path_is_built(house: House, session_id: str) -> None:
    for use in (house.store.load, house.store.path, house.store.restore):
        with pytest.raises(InvalidRequest):
            use(session_id)
    with pytest.raises(InvalidRequest), house.store.edit(session_id):
        pass
    with pytest.raises(InvalidRequest), house.store.remove(session_id):
        pass


@pytest.mark.parametrize("session_id", REAL_IDS)
def test_a_real_id_is_accepted(house: House, session_id: str) -> None:
    house.store.create(Session(session_id))
    assert house.store.load(session_id).session_id == session_id


def test_an_edit_is_on_disk_when_the_block_ends(house: House) -> None:
    session = four_messages(house)
    again = build_house(house.state_dir)
    assert [m.content for m in again.store.load(session.session_id).line()] == ["u1", "a1", "u2", "a2"]
    again.close()


def test_an_edit_that_raises_changes_nothing(house: House) -> None:
    session = four_messages(house)
    raw = house.store.path(session.session_id).read_bytes()
    with pytest.raises(ZeroDivisionError), house.store.edit(session.session_id) as edited:
        edited.append("user", "lost", 1.0)
        _ = 1 // 0
    assert house.store.path(session.session_id).read_bytes() == raw
    assert len(house.store.load(session.session_id).messages) == 4


def test_an_edit_without_a_change_does_not_write(house: House) -> None:
    session = four_messages(house)
    before = house.store.path(session.session_id).stat()
    with house.store.edit(session.session_id):
        pass
    assert house.store.path(session.session_id).stat() == before


def test_a_save_with_fewer_messages_is_refused(house: House) -> None:
    session = four_messages(house)
    with pytest.raises(RuntimeError, match="lose messages"), house.store.edit(session.session_id) as edited:
        edited.messages.pop()
        edited.head = 3
    with pytest.raises(RuntimeError, match="lose messages"), house.store.edit(session.session_id) as edited:
        edited.messages[1] = edited.messages[3]
    assert len(house.store.load(session.session_id).messages) == 4


def test_the_revision_grows_with_what_a_reader_sees_only(house: House) -> None:
    session = four_messages(house)
    with house.store.edit(session.session_id) as edited:
        edited.pinned, edited.seen, edited.tags = True, 4, ["x"]
    assert edited.revision == session.revision
    with house.store.edit(session.session_id) as edited:
        edited.head = 2
    assert edited.revision == session.revision + 1
    assert edited.execution_generation == session.execution_generation + 1


def test_an_edit_of_a_stale_revision_is_refused_with_the_current_one(house: House) -> None:
    session = four_messages(house)
    with pytest.raises(StaleRevision) as caught, house.store.edit(session.session_id, 1):
        pass
    assert caught.value.details == {"revision": session.revision}


def test_a_file_changed_from_outside_is_read_again(house: House) -> None:
    session = four_messages(house)
    path = house.store.path(session.session_id)
    path.write_bytes(path.read_bytes().replace(b'"a2"', b'"b2"'))
    assert house.contents(session.session_id)[-1] == "b2"


def test_a_damaged_file_is_neither_rewritten_nor_edited(house: House) -> None:
    session = four_messages(house)
    path = house.store.path(session.session_id)
    cut = path.read_bytes()[:-40]
    path.write_bytes(cut)
    with pytest.raises(Damaged):
        house.store.load(session.session_id)
    with pytest.raises(Damaged), house.store.edit(session.session_id) as edited:
        edited.title = "x"
    assert path.read_bytes() == cut


def test_a_deleted_session_is_gone_and_can_be_restored(house: House) -> None:
    session = four_messages(house)
    with house.store.remove(session.session_id):
        pass
    with pytest.raises(NotFound):
        house.store.load(session.session_id)
    assert [entry.session_id for entry in house.store.trashed()] == [session.session_id]
    restored = house.store.restore(session.session_id)
    assert restored.messages == session.messages
    assert house.store.trashed() == []
    with pytest.raises(Conflict):
        house.store.restore(session.session_id)


def test_a_damaged_session_can_be_deleted(house: House) -> None:
    session = four_messages(house)
    house.store.path(session.session_id).write_bytes(b"")
    with house.store.remove(session.session_id) as seen:
        assert seen is None
    assert len(house.store.trashed(session.session_id)) == 1


def test_a_damaged_session_stays_in_the_trash(house: House) -> None:
    session = four_messages(house)
    house.store.path(session.session_id).write_bytes(b"")
    with house.store.remove(session.session_id):
        pass
    with pytest.raises(Damaged):
        house.store.restore(session.session_id)
    assert len(house.store.trashed(session.session_id)) == 1
    assert not house.store.path(session.session_id).exists()


def test_a_new_id_is_free_in_the_trash_too(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    session = four_messages(house)
    with house.store.remove(session.session_id):
        pass
    ids = iter([session.session_id, "20300101_000000_aaaaaa"])
    monkeypatch.setattr(house.clock, "new_session_id", lambda: next(ids))
    assert house.store.new_id() == "20300101_000000_aaaaaa"


def test_a_lone_lock_file_never_means_busy(house: House) -> None:
    session = four_messages(house)
    lock = house.state_dir / "locks" / f"{session.session_id}.lock"
    for text in ("", str(os.getppid()), "4711\nelsewhere.example\n"):
        lock.write_text(text)
        with house.store.edit(session.session_id) as edited:
            edited.title = f"with {text!r}"


def _hold_and_wait(folder: Path, key: str, ready: object) -> None:
    from api.concurrency import KeyedLocks

    with KeyedLocks(folder).hold(key):
        ready.set()  # type: ignore[attr-defined]
        threading.Event().wait()


def test_the_lock_of_a_killed_process_is_free_at_once(house: House) -> None:
    session = four_messages(house)
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    other = context.Process(
        target=_hold_and_wait, args=(house.state_dir / "locks", session.session_id, ready), daemon=True
    )
    other.start()
    assert ready.wait(20)
    house.store._locks._wait_s = 0.05
    with pytest.raises(Unavailable), house.store.edit(session.session_id):
        pass
    other.kill()
    other.join()
    with house.store.edit(session.session_id) as edited:
        edited.title = "free again"
    other.close()


def test_twenty_threads_on_one_session_lose_no_message(house: House) -> None:
    session = house.new_session()
    workers = Workers()

    def write(name: str) -> None:
        for number in range(5):
            with house.store.edit(session.session_id) as edited:
                edited.append("user", f"{name}.{number}", 1.0)

    for thread in range(20):
        workers.spawn(f"w{thread}", lambda thread=thread: write(str(thread)))
    wait_until(lambda: len(house.store.load(session.session_id).messages) == 100)
    assert not workers.stop(10)
    assert len(set(house.contents(session.session_id))) == 100


def test_a_thread_cannot_hold_two_sessions(house: House) -> None:
    first, second = house.new_session(), house.new_session()
    with (
        house.store.edit(first.session_id),
        pytest.raises(RuntimeError, match=second.session_id),
        house.store.edit(second.session_id),
    ):
        pass


CRASH = """
import os, sys
from pathlib import Path
from tests.conftest import build_house
def die(point):
    if point == sys.argv[3]:
        os._exit(9)
house = build_house(Path(sys.argv[1]), checkpoint=die)
with house.store.edit(sys.argv[2]) as session:
    session.append("user", "u3", 2.0)
    session.append("assistant", "a3", 2.0)
"""


@pytest.mark.parametrize(("point", "kept"), [("half written", 4), ("synced", 4), ("renamed", 6)])
def test_a_process_that_dies_in_a_save_leaves_the_old_or_the_new(house: House, point: str, kept: int) -> None:
    session = four_messages(house)
    house.catalog.close()
    died = subprocess.run(
        [sys.executable, "-c", CRASH, str(house.state_dir), session.session_id, point], cwd=Path.cwd()
    )
    assert died.returncode == 9
    left = build_house(house.state_dir)
    left.catalog.reconcile()
    assert len(left.store.load(session.session_id).messages) == kept
    row = left.catalog.row(session.session_id)
    assert row is not None
    assert row.message_count == kept
    sweep_temporaries(house.state_dir)
    assert [path.name for path in (house.state_dir / "sessions").iterdir()] == [f"{session.session_id}.json"]
    left.close()


def test_a_file_that_cannot_be_read_is_damaged_and_hides_no_other(house: House) -> None:
    session = four_messages(house)
    folder = house.store.path(session.session_id).parent
    (folder / "folder.json").mkdir()
    (folder / "nowhere.json").symlink_to(folder / "no such file")
    (folder / "loop.json").symlink_to("loop.json")
    house.catalog.reconcile()
    assert {row.session_id: row.damaged for row in house.catalog.page().rows} == {
        session.session_id: False,
        "folder": True,
    }
    for name in ("folder", "loop"):
        with pytest.raises(Damaged):
            house.store.load(name)


def test_a_strange_name_in_the_trash_is_no_chat(house: House) -> None:
    (house.state_dir / "trash" / "\u00b2-abc.json").write_bytes(b"{}")
    assert house.store.trashed() == []


def test_a_folder_in_the_trash_is_left_alone(house: House) -> None:
    folder = house.state_dir / "trash" / "5-20261130_101500_a1b2c3.json"
    folder.mkdir()
    assert house.store.trashed() == [] and house.store.purge() == 0
    assert folder.is_dir()


def test_a_purge_waits_for_a_change_in_the_trash_and_is_final(house: House) -> None:
    session = four_messages(house)
    with house.store.remove(session.session_id):
        pass
    (entry,) = house.store.trashed()
    with house.store.edit_trashed(entry) as edited:
        edited.title = "changed"
        purge = threading.Thread(target=house.store.purge)
        purge.start()
        purge.join(0.2)
    purge.join()
    assert house.store.trashed() == []


def test_a_file_of_another_chat_in_the_trash_is_not_restored(house: House) -> None:
    session = four_messages(house)
    other = house.store.path(session.session_id).parent.parent / "trash" / "1-other.json"
    other.write_bytes(house.store.path(session.session_id).read_bytes())
    with pytest.raises(NotFound):
        house.store.restore("other")
    assert other.exists()


@pytest.mark.parametrize("place", [".", "trash", "drafts", "blobs"])
def test_what_a_cut_off_write_left_is_swept_by_the_next_start_and_not_before(
    tmp_path: Path, place: str
) -> None:
    with live_server(tmp_path) as live:
        left = tmp_path / place / ".keys.json.0123456789ab.tmp"
        left.write_text("words")
        live.services.housekeep()
        assert left.exists()
    with live_server(tmp_path):
        assert not left.exists()
