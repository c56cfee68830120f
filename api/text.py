"""Text and JSON that come from outside: read tolerantly, kept as valid Unicode that can be saved again."""

import json
from collections.abc import Callable
from typing import Any

import orjson

# orjson writes at most 254 levels, and what is accepted here is stored inside other values.
MAX_NESTING = 200


def valid_unicode(text: str) -> str:
    """`text` with surrogate pairs joined and each lone surrogate replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_json(value: Any) -> Any:
    """`value` with all its strings, keys too, valid Unicode. Raises `ValueError` for too deep a nesting."""
    return _clean(value, MAX_NESTING)


def read_json(text: str) -> Any:
    """The value written in `text`, also where lone surrogates or NaN are in it. Raises `ValueError`."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _read_slowly(text, strict=False, constant=_nothing)


def read_strict_json(raw: bytes) -> Any:
    """The value in `raw`, which must be JSON; its strings are made valid. Raises `ValueError`."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return clean_json(_read_slowly(raw, strict=True, constant=_refuse))


def is_deeper(value: Any, limit: int) -> bool:
    """Whether lists and objects are nested in `value` over more than `limit` levels."""
    level = [value]
    for _ in range(limit + 1):
        level = [child for entry in level for child in _children(entry)]
        if not level:
            return False
    return True


class TextJoiner:
    """Joins a surrogate pair that was cut over two pieces of text."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """The valid text up to here; the first half of a pair waits for the second."""
        if self._half:
            piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return valid_unicode(piece)

    def finish(self) -> str:
        """What is left over."""
        half, self._half = self._half, ""
        return valid_unicode(half)


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [child for child in value.values() if isinstance(child, dict | list)]
    if isinstance(value, list):
        return [child for child in value if isinstance(child, dict | list)]
    return []


def _clean(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return valid_unicode(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if levels == 0:
        raise ValueError("the value is nested too deep")
    if isinstance(value, dict):
        return {valid_unicode(str(key)): _clean(item, levels - 1) for key, item in value.items()}
    return [_clean(item, levels - 1) for item in value]


def _read_slowly(text: str | bytes, strict: bool, constant: Callable[[str], None]) -> Any:
    """What the standard reader makes of a text: it takes escaped lone surrogates."""
    try:
        return json.loads(text, strict=strict, parse_int=_whole, parse_constant=constant)
    except RecursionError:
        raise ValueError("the value is nested too deep") from None


def _whole(digits: str) -> int | float:
    """A whole number as orjson gives it: beyond 64 bits a float."""
    return int(digits) if len(digits) <= 18 else float(digits)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _nothing(_name: str) -> None:
    """NaN and Infinity have no place in JSON and are read as null."""
