"""Head moves: undo, redo, variants and branches of the message tree. No message is ever removed."""

from dataclasses import dataclass

from api.errors import InvalidRequest, NothingToRedo, NothingToUndo
from api.sessions.model import Message, Session


@dataclass(frozen=True, slots=True)
class Removed:
    """What an undo took from the active line: its messages, oldest first, and how many turns they were."""

    messages: list[Message]
    turns: int


def undo(session: Session, count: int = 1) -> Removed:
    """Take the last `count` typed messages and all they caused from the line, or as many as there are."""
    line = session.line()
    places = [place for place, message in enumerate(line) if message.is_typed][-count:]
    if not places:
        raise NothingToUndo()
    for place in reversed(places):
        session.redo.append(_head(session))
        session.head = line[place].parent
    return Removed(line[places[0] :], len(places))


def redo(session: Session, count: int = 1) -> list[Message]:
    """Bring back what the last `count` undos took, or as much as there is; the restored messages."""
    if not session.redo:
        raise NothingToRedo()
    before = {message.id for message in session.line()}
    for _ in range(min(count, len(session.redo))):
        session.head = session.redo.pop()
    return [message for message in session.line() if message.id not in before]


def truncate(session: Session, head: int | None) -> int:
    """Move the head back to `head`, a message of the active line or None; how many messages left it."""
    line = session.line()
    kept = [message.id for message in line]
    if head is not None and head not in kept:
        raise InvalidRequest("This message is not on the shown line of this chat.")
    cut = 0 if head is None else kept.index(head) + 1
    if line[cut:]:
        session.redo.extend(_ends(line[cut:]))
        session.head = head
    return len(line) - cut


def _ends(left: list[Message]) -> list[int]:
    """The last message of each turn in `left`, the newest turn first."""
    starts = [place for place, message in enumerate(left) if message.is_typed and place > 0]
    return [left[-1].id] + [left[place - 1].id for place in reversed(starts)]


def begin(session: Session) -> None:
    """Prepare the head for a new message: what was undone there can no longer be brought back."""
    session.redo.clear()
    for sibling in children(session, session.head):
        session.tips.pop(str(sibling.id), None)


def rewind_to_reply(session: Session, user: Message) -> None:
    """Put the head on `user` so that another reply can grow beside those it has."""
    _keep_tip(session, user.id)
    session.redo.clear()
    session.head = user.id


def rewind_to_edit(session: Session, user: Message) -> None:
    """Put the head above `user` so that another wording can grow beside it."""
    _keep_tip(session, user.parent)
    session.redo.clear()
    session.head = user.parent


def select(session: Session, message_id: int) -> None:
    """Show the variant that begins with `message_id`, at the place where it was left."""
    shown = {message.id for message in session.line()}
    if message_id in shown:
        return
    if not any(message_id in ids for ids in variants(session).values()):
        raise InvalidRequest("This message is no variant of the shown line of this chat.")
    _keep_tip(session, session.message(message_id).parent)
    session.redo.clear()
    session.head = session.tips[str(message_id)]


def variants(session: Session) -> dict[int, list[int]]:
    """For each message of the line that has them: the ids that can be shown in its place, oldest first.

    A sibling that was undone and then written over is none: it left the line without a tip.
    """
    shown = {message.id for message in session.line()}
    families: dict[int | None, list[int]] = {}
    for message in session.messages:
        if message.id in shown or str(message.id) in session.tips:
            families.setdefault(message.parent, []).append(message.id)
    lines = {next(iter(shown.intersection(ids)), None): ids for ids in families.values() if len(ids) > 1}
    return {message_id: ids for message_id, ids in lines.items() if message_id is not None}


def visible(session: Session) -> set[int]:
    """The messages of the line, and those of the variants that can be shown in its place."""
    ids = {message.id for message in session.line()}
    hidden = {sibling for family in variants(session).values() for sibling in family} - ids
    for sibling in hidden:
        ids |= {message.id for message in session.line(session.tips[str(sibling)])}
    return ids


def children(session: Session, parent: int | None) -> list[Message]:
    """The messages directly under `parent`, oldest first; None stands for the root."""
    return [message for message in session.messages if message.parent == parent]


def _keep_tip(session: Session, fork: int | None) -> None:
    """Remember the head for the variant that the line takes directly under `fork`."""
    line = session.line()
    place = 0 if fork is None else next(i for i, m in enumerate(line) if m.id == fork) + 1
    if place < len(line):
        session.tips[str(line[place].id)] = _head(session)


def _head(session: Session) -> int:
    if session.head is None:
        raise NothingToUndo()
    return session.head
