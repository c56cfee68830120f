"""Head moves: what undo, redo and variants show, and that nothing is ever lost."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from api.errors import InvalidRequest, NothingToRedo, NothingToUndo
from api.sessions import tree
from api.sessions.codec import decode, encode
from api.sessions.copying import copy_line, copy_whole
from api.sessions.model import Session


def said(session: Session) -> list[str]:
    return [message.content for message in session.line()]


def send(session: Session, text: str, *replies: str) -> None:
    tree.begin(session)
    session.append("user", text, 1.0)
    for reply in replies:
        session.append("assistant", reply, 1.0)


def talk(*turns: tuple[str, str]) -> Session:
    session = Session("s1")
    for text, reply in turns:
        send(session, text, reply)
    return session


def test_undo_takes_the_last_typed_message_and_all_it_caused() -> None:
    session = talk(("u1", "a1"))
    send(session, "u2", "a2", "a2b")
    undone = tree.undo(session)
    assert [m.content for m in undone.messages] == ["u2", "a2", "a2b"]
    assert said(session) == ["u1", "a1"]
    assert len(session.messages) == 5


def test_undo_of_more_than_there_is_takes_what_there_is() -> None:
    session = talk(("u1", "a1"), ("u2", "a2"))
    assert tree.undo(session, 9).turns == 2
    assert said(session) == []
    with pytest.raises(NothingToUndo):
        tree.undo(session)


def test_redo_brings_the_turns_back_oldest_first() -> None:
    session = talk(("u1", "a1"), ("u2", "a2"), ("u3", "a3"))
    tree.undo(session, 3)
    assert [m.content for m in tree.redo(session)] == ["u1", "a1"]
    assert [m.content for m in tree.redo(session, 5)] == ["u2", "a2", "u3", "a3"]
    with pytest.raises(NothingToRedo):
        tree.redo(session)


def test_a_new_message_ends_what_redo_could_bring_back() -> None:
    session = talk(("u1", "a1"), ("u2", "a2"))
    tree.undo(session)
    send(session, "u3", "a3")
    with pytest.raises(NothingToRedo):
        tree.redo(session)
    assert tree.variants(session) == {}


def test_a_system_message_above_the_first_turn_stays() -> None:
    session = Session("s1")
    session.append("system", "be kind", 1.0)
    send(session, "u1", "a1")
    tree.undo(session)
    assert said(session) == ["be kind"]


def test_equal_texts_are_told_apart_by_their_place() -> None:
    session = talk(("ok", "a1"), ("ok", "a2"), ("ok", "a3"))
    tree.rewind_to_reply(session, session.line()[-2])
    session.append("assistant", "a4", 1.0)
    assert said(session) == ["ok", "a1", "ok", "a2", "ok", "a4"]
    tree.undo(session)
    assert said(session) == ["ok", "a1", "ok", "a2"]


def test_a_selected_variant_shows_again_where_it_was_left() -> None:
    session = talk(("u1", "a1"), ("u2", "a2"))
    tree.rewind_to_edit(session, session.line()[0])
    session.append("user", "u1 other", 1.0)
    session.append("assistant", "b1", 1.0)
    assert tree.variants(session) == {5: [1, 5]}
    tree.select(session, 1)
    assert said(session) == ["u1", "a1", "u2", "a2"]
    tree.select(session, 5)
    assert said(session) == ["u1 other", "b1"]


def test_a_message_that_is_no_variant_cannot_be_selected() -> None:
    session = talk(("u1", "a1"), ("u2", "a2"))
    tree.undo(session)
    with pytest.raises(InvalidRequest):
        tree.select(session, 3)


def test_truncate_is_undone_by_redo_turn_by_turn() -> None:
    session = talk(("u1", "a1"), ("u2", "a2"), ("u3", "a3"))
    assert tree.truncate(session, 2) == 4
    assert said(session) == ["u1", "a1"]
    tree.redo(session)
    assert said(session) == ["u1", "a1", "u2", "a2"]
    tree.redo(session)
    assert said(session) == ["u1", "a1", "u2", "a2", "u3", "a3"]


class TreeMachine(RuleBasedStateMachine):
    """Sends, undos, redos, edits, variants and copies against a plain list of what must be shown."""

    @initialize()
    def begin(self) -> None:
        self.session = Session("s1")
        self.shown: list[str] = []
        self.undone: list[list[str]] = []
        self.count = 0

    def _new(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def _typed_places(self) -> list[int]:
        return [place for place, text in enumerate(self.shown) if text.startswith("u")]

    @rule()
    def send(self) -> None:
        user, reply = self._new("u"), self._new("a")
        send(self.session, user, reply)
        self.shown += [user, reply]
        self.undone = []

    @precondition(lambda self: self.shown)
    @rule(count=st.integers(1, 3))
    def undo(self, count: int) -> None:
        tree.undo(self.session, count)
        for place in list(reversed(self._typed_places()))[:count]:
            self.undone.append(self.shown[place:])
            self.shown = self.shown[:place]

    @precondition(lambda self: self.undone)
    @rule(count=st.integers(1, 3))
    def redo(self, count: int) -> None:
        tree.redo(self.session, count)
        for _ in range(min(count, len(self.undone))):
            self.shown += self.undone.pop()

    @precondition(lambda self: self.shown)
    @rule(data=st.data())
    def regenerate(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from(self._typed_places()))
        tree.rewind_to_reply(self.session, self.session.line()[place])
        reply = self._new("a")
        self.session.append("assistant", reply, 1.0)
        self.shown = [*self.shown[: place + 1], reply]
        self.undone = []

    @precondition(lambda self: self.shown)
    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from(self._typed_places()))
        tree.rewind_to_edit(self.session, self.session.line()[place])
        user, reply = self._new("u"), self._new("a")
        self.session.append("user", user, 1.0)
        self.session.append("assistant", reply, 1.0)
        self.shown = [*self.shown[:place], user, reply]
        self.undone = []

    @precondition(lambda self: tree.variants(self.session))
    @rule(data=st.data())
    def select_and_come_back(self, data: st.DataObject) -> None:
        own, ids = data.draw(st.sampled_from(sorted(tree.variants(self.session).items())))
        other = data.draw(st.sampled_from(ids))
        tree.select(self.session, other)
        assert other in [message.id for message in self.session.line()]
        tree.select(self.session, own)
        if other != own:
            self.undone = []

    @precondition(lambda self: self.shown)
    @rule(data=st.data())
    def branch(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.shown) - 1))
        twin = copy_line(self.session, "twin", self.session.line()[place].id, 1.0)
        assert said(twin) == self.shown[: place + 1]
        send(twin, "own", "reply")

    @rule()
    def go_on_in_a_duplicate(self) -> None:
        twin = copy_whole(self.session, "twin", 1.0)
        assert decode(encode(twin)) == twin
        while self.undone and twin.redo:
            tree.redo(twin)
        assert said(twin) == self.shown + [text for turn in reversed(self.undone) for text in turn]
        self.session = copy_whole(self.session, "twin", 1.0)

    @rule()
    def reopen(self) -> None:
        self.session = decode(encode(self.session))

    @invariant()
    def shows_what_it_must(self) -> None:
        assert said(self.session) == self.shown

    @invariant()
    def nothing_is_removed(self) -> None:
        assert len(self.session.messages) == self.count


TestTree = TreeMachine.TestCase
TestTree.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
