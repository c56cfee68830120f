"""The words in message content of any shape, and what is made of them: previews and titles."""

import unicodedata
from typing import Any

import regex

TITLE_LIMIT = 200
LABEL_LIMIT = 60
AUTO_TITLE_LIMIT = 60
PREVIEW_LIMIT = 40
SNIPPET_LIMIT = 120
_COMBINING_LIMIT = 4

_GRAPHEME = regex.compile(r"\X")
_BLANKS = regex.compile(r"\s+")
_MARKS = regex.compile(rf"(\p{{M}}{{{_COMBINING_LIMIT}}})\p{{M}}+")
# Embeddings, overrides and isolates would change how the rows beside a title read.
_DIRECTION = regex.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def text_of(content: Any) -> str:
    """The words of a message: a string as it is, the texts of a list of parts, `[image]` for an image."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for text in map(_part_text, content) if text)
    if isinstance(content, dict):
        return _part_text(content)
    return "" if content is None or isinstance(content, bool) else str(content)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    return "[image]" if part.get("type") in ("image_url", "image", "input_image") else ""


def preview(text: str, limit: int = PREVIEW_LIMIT) -> str:
    """The first `limit` characters as a reader counts them, with `...` only where something was cut."""
    graphemes = [match.group() for match in _GRAPHEME.finditer(text[: limit * 40])]
    if len(graphemes) <= limit and len(text) <= limit * 40:
        return text
    return "".join(graphemes[:limit]) + "..."


def clean_title(text: str, limit: int = TITLE_LIMIT) -> str:
    """One visible line of at most `limit` characters; empty where nothing can be seen."""
    line = _BLANKS.sub(" ", _DIRECTION.sub("", text))
    line = "".join(c for c in line if unicodedata.category(c) not in ("Cc", "Cs", "Co")).strip()
    line = _MARKS.sub(r"\1", line)
    if not any(unicodedata.category(c)[0] in "LNPS" for c in line):
        return ""
    return preview(line, limit - 3) if len(_GRAPHEME.findall(line)) > limit else line


def clean_label(name: str | None) -> str | None:
    """The name of a project or a tag; None where nothing can be seen."""
    return clean_title(name or "", LABEL_LIMIT) or None


def title_from(content: Any) -> str:
    """A title made of the first words of a message; empty where it has none that can be seen."""
    return clean_title(text_of(content)[:2000], AUTO_TITLE_LIMIT)


def snippet_of(content: Any) -> str:
    """One line that shows in a list what was said last."""
    return preview(clean_title(text_of(content)[: SNIPPET_LIMIT * 10], SNIPPET_LIMIT * 2), SNIPPET_LIMIT)
