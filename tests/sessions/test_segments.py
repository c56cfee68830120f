"""What memory was told and should know, as views of the turns of a session."""

import json

import pytest

from api.sessions import codec, segments, tree
from api.sessions.model import DONE, STOPPED, Session, TurnRecord
from api.sessions.outlook import outlook


def reconcile(session: Session) -> None:
    """What memory is asked to do, done at once."""
    segments.note_moved(session, *segments.begin_moves(session))


def talked(count: int, owner: str = "openai/default") -> Session:
    session = Session("s")
    for _ in range(count):
        say(session, owner)
    return session


def say(session: Session, owner: str = "openai/default", state: str = DONE) -> str:
    """One more turn; a completed one counts."""
    tree.begin(session)
    turn_id = session.take_turn_id()
    user = session.append("user", f"question {turn_id}", 1.0, turn_id)
    return _reply(session, turn_id, user.id, owner, state)


def ask_again(session: Session, owner: str = "openai/default") -> str:
    """Another reply under the last user message."""
    user = session.last_typed()
    assert user
    tree.rewind_to_reply(session, user)
    return _reply(session, session.take_turn_id(), user.id, owner, DONE)


def _reply(session: Session, turn_id: str, user: int, owner: str, state: str) -> str:
    session.append("assistant", f"answer {turn_id}", 2.0, turn_id)
    number = float(turn_id[1:])
    session.turns.append(TurnRecord(turn_id, user, state=state, finished_at=number))
    if state == DONE:
        segments.mark(session, turn_id, owner)
    return turn_id


def turns_of(session: Session) -> list[list[str]]:
    return [[record.id for record in segment] for segment in segments.segments(session)]


def test_runs_of_one_owner_are_segments() -> None:
    session = talked(2)
    say(session, "embedded/default")
    say(session)
    assert turns_of(session) == [["t1", "t2"], ["t3"], ["t4"]]
    assert segments.generation(session) == 4


def test_a_turn_that_did_not_complete_does_not_count() -> None:
    session = talked(1)
    say(session, state=STOPPED)
    say(session)
    assert turns_of(session) == [["t1", "t3"]]
    assert segments.generation(session) == 2


def test_a_sealed_batch_never_grows_and_never_shrinks() -> None:
    session = talked(2)
    batch = segments.seal(session)
    assert batch and (batch.id, batch.turns) == ("s:1-2", ("t1", "t2"))
    say(session)
    tree.undo(session, 2)
    assert segments.seal(session) == batch
    segments.note_failed(session, batch.id, "no network", 5.0)
    tree.redo(session, 2)
    again = segments.seal(session)
    assert again and (again.id, again.turns, again.attempts, again.error) == (
        "s:1-2", ("t1", "t2"), 1, "no network",
    )  # fmt: skip
    segments.note_told(session, batch.id, 6.0)
    following = segments.seal(session)
    assert following and (following.id, following.turns) == ("s:3-3", ("t3",))
    assert [turn.memory for turn in session.turns] == ["s:1-2", "s:1-2", None]


def test_undone_turns_are_untold_and_told_ones_leave_and_return() -> None:
    session = talked(3)
    tree.undo(session)
    batch = segments.seal(session)
    assert batch and batch.turns == ("t1", "t2")
    segments.note_told(session, batch.id, 6.0)
    tree.undo(session)
    assert (segments.left(session), segments.returned(session)) == (["t2"], [])
    reconcile(session)
    assert not outlook(session).is_out_of_step
    tree.redo(session, 2)
    assert (segments.left(session), segments.returned(session)) == ([], ["t2"])
    assert turns_of(session) == [["t3"]]
    reconcile(session)
    assert [turn.memory for turn in session.turns] == ["s:1-2", "s:1-2", None]
    assert codec.decode(codec.encode(session)).turns[1].extra == {}


def test_a_variant_takes_the_place_of_the_reply_that_memory_knows() -> None:
    session = talked(1)
    batch = segments.seal(session)
    assert batch
    segments.note_told(session, batch.id, 6.0)
    ask_again(session)
    assert (segments.left(session), turns_of(session)) == (["t1"], [["t2"]])
    reconcile(session)
    tree.select(session, 2)
    assert (segments.returned(session), turns_of(session)) == (["t1"], [])


def test_an_owner_that_fails_does_not_hold_up_the_others() -> None:
    session = talked(1)
    say(session, "embedded/default")
    say(session)
    first = segments.seal(session)
    assert first
    segments.note_failed(session, first.id, "down", 1.0)
    other = segments.seal(session, frozenset({"openai/default"}))
    assert other and other.turns == ("t2",)
    segments.note_told(session, other.id, 2.0)
    assert segments.seal(session, frozenset({"openai/default"})) is None


def test_a_dropped_batch_never_reaches_memory() -> None:
    session = talked(2)
    batch = segments.seal(session)
    assert batch and segments.drop(session, batch.id) and not segments.drop(session, batch.id)
    assert (segments.left(session), segments.returned(session)) == (["t1", "t2"], [])
    reconcile(session)
    assert outlook(session).is_empty and turns_of(session) == []
    assert all(turn.extra == {} and turn.memory is None for turn in session.turns)
    say(session)
    following = segments.seal(session)
    # A number that was given away is never given again: its batch may have reached memory after all.
    assert following and (following.id, following.turns) == ("s:3-3", ("t3",))


def test_the_outlook_says_how_much_waits_and_when_it_is_tried_again() -> None:
    session = talked(2)
    assert outlook(session).turns == 2 and outlook(session).since == 2.0
    batch = segments.seal(session)
    assert batch and outlook(session).retry_at == 0.0
    for attempt, pause_s in ((1, 30), (2, 60), (3, 120)):
        segments.note_failed(session, batch.id, "down", 1000.0)
        assert outlook(session).retry_at == 1000.0 + pause_s, attempt
    for _ in range(30):
        segments.note_failed(session, batch.id, "down", 1000.0)
    assert outlook(session).retry_at == 1000.0 + 3600
    session.memory_off = True
    assert outlook(session).is_empty


@pytest.mark.parametrize(
    "memory",
    [
        {"batches": {}}, {"generation": "1"}, {"generation": 2**53}, {"last_commit_at": "now"},
        {"batches": [1]}, {"batches": [{}]},
        {"batches": [{"id": "b", "turns": ["t1"]}]},
        {"batches": [{"id": "b", "turns": [1], "owner": "o"}]},
        {"batches": [{"id": "b", "turns": [], "owner": "o", "attempts": "x"}]}, [],
    ],
)  # fmt: skip
def test_a_file_with_odd_batches_is_damaged(memory: object) -> None:
    session = talked(1)
    session.memory = memory  # type: ignore[assignment]
    with pytest.raises(codec.Damaged):
        codec.decode(codec.encode(session))


@pytest.mark.parametrize(
    "odd", [{"adopted": 1}, {"adopted": ["1"]}, {"adopted": [None]}, {"told_in": 5}, {"generation": 2**53}]
)
def test_a_file_with_an_odd_turn_is_damaged(odd: dict[str, object]) -> None:
    session = talked(1)
    plain = codec.session_to_json(session)
    plain["turns"][0] |= odd
    with pytest.raises(codec.Damaged):
        codec.decode(json.dumps(plain).encode())
