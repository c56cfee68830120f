"""Assembles whole tool calls from the pieces in which providers stream them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from api.text import clean_json, read_json, valid_unicode


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One whole call. `arguments` is the decoded value, or the text as it came where that is no JSON."""

    id: str
    name: str
    arguments: Any


@dataclass(slots=True)
class _Piece:
    """What one entry of a `tool_calls` list says; `value` are arguments that came decoded."""

    id: str
    index: int | None
    name: str
    text: str
    value: Any

    @property
    def has_arguments(self) -> bool:
        return self.value is not None or bool(self.text.strip())


@dataclass(slots=True)
class _Call:
    """A call that still grows."""

    id: str
    index: int | None
    name: str = ""
    texts: list[str] = field(default_factory=list)
    value: Any = None

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def has_begun(self) -> bool:
        return self.value is not None or any(text.strip() for text in self.texts)

    @property
    def is_complete(self) -> bool:
        """Whether its arguments are already a whole JSON value."""
        if self.value is not None:
            return True
        # Looking at the end first keeps a long argument in many pieces from being parsed at each of them.
        return self.has_begun and self.texts[-1].rstrip()[-1:] in ("}", "]", "") and _is_json(self.text)

    def take(self, piece: _Piece) -> None:
        self.id = self.id or piece.id
        if not self.has_begun:
            # Some repeat the name, some send it in pieces, some send what they have of it so far.
            self.name = piece.name if piece.name.startswith(self.name) else self.name + piece.name
        if piece.value is not None:
            self.value = piece.value
        elif piece.text:
            self.texts.append(piece.text)


class ToolCallAssembler:
    """Collects pieces by index, id and name, whichever of them a provider sends and repeats."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def add(self, entries: Any) -> None:
        """Take the `tool_calls` list of one chunk; what is no list of objects is no call."""
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                self._add(_piece(entry))

    def finish(self, taken: set[str] | None = None) -> Sequence[ToolCall]:
        """The calls in the order they began, each with an id that is not in `taken`, where it is added."""
        taken = set() if taken is None else taken
        return [_whole(call, taken) for call in self._calls if call.name or call.has_begun]

    def _add(self, piece: _Piece) -> None:
        call = self._call_of(piece)
        if call is None or _begins_another(call, piece):
            call = _Call(id=piece.id, index=piece.index)
            self._calls.append(call)
        elif _repeats(call, piece):
            return
        call.take(piece)

    def _call_of(self, piece: _Piece) -> _Call | None:
        """The call that `piece` speaks of, the newest where several fit; None for the first of a new one."""
        same_id = [call for call in self._calls if piece.id and call.id == piece.id]
        if piece.index is None:
            return _last(same_id or self._calls)
        same_index = [call for call in self._calls if call.index == piece.index]
        both = [call for call in same_id if call.index == piece.index]
        if both or same_index:
            return (both or same_index)[-1]
        if piece.name or (piece.id and not same_id):
            return None
        return _last(same_id or self._calls)


def _last(calls: list[_Call]) -> _Call | None:
    return calls[-1] if calls else None


def _begins_another(call: _Call, piece: _Piece) -> bool:
    """Whether a piece that could belong to `call` is the head of a further call."""
    if not piece.name or not call.name:
        return False
    if piece.id and call.id and piece.id != call.id:
        return not _goes_on(call, piece)
    if call.is_complete and piece.has_arguments:
        return not _repeats(call, piece)
    is_other_name = not piece.name.startswith(call.name)
    is_anonymous = piece.index is None and not piece.id
    return is_other_name and (call.has_begun or is_anonymous)


def _goes_on(call: _Call, piece: _Piece) -> bool:
    """Whether a piece is the middle of `call` in spite of its new id: some make one for each piece."""
    is_middle = bool(piece.text) and not piece.text.lstrip().startswith("{")
    return piece.name == call.name and is_middle and call.has_begun and not call.is_complete


def _repeats(call: _Call, piece: _Piece) -> bool:
    """Whether a piece says once more, under its id, what the whole call already holds."""
    if not (piece.id and piece.id == call.id and piece.has_arguments and call.is_complete):
        return False
    return piece.value == call.value and (piece.value is not None or piece.text.strip() == call.text.strip())


def _piece(entry: dict[str, Any]) -> _Piece:
    function = entry.get("function")
    function = function if isinstance(function, dict) else {}
    index, call_id, arguments = entry.get("index"), entry.get("id"), function.get("arguments")
    return _Piece(
        id="" if call_id is None else valid_unicode(str(call_id)),
        index=index if isinstance(index, int) else None,
        name=valid_unicode(function["name"]) if isinstance(function.get("name"), str) else "",
        text=arguments if isinstance(arguments, str) else "",
        value=None if isinstance(arguments, str) else arguments,
    )


def _whole(call: _Call, taken: set[str]) -> ToolCall:
    call_id = free_name(call.id or f"call_{len(taken) + 1}", taken)
    return ToolCall(call_id, call.name, _arguments(call))


def free_name(name: str, taken: set[str]) -> str:
    """`name`, or one made from it that is not in `taken`, where it is added."""
    number = len(taken) + 1
    while name in taken:
        name = f"{name}_{number}"
    taken.add(name)
    return name


def _arguments(call: _Call) -> Any:
    text = valid_unicode(call.text)
    try:
        value = read_json(text) if call.value is None and text.strip() else call.value
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value = read_json(value)
        return {} if value is None else clean_json(value)
    except ValueError:
        return text


def _is_json(text: str) -> bool:
    try:
        read_json(valid_unicode(text))
    except ValueError:
        return False
    return True
