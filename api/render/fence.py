"""A fence of code that is still open: its text as it comes, and the line that closes it."""

import re

from api.render.code import escape, language_of, opening_html

_OPENING = re.compile(r"( {0,3})(`{3,}|~{3,})(.*)", re.DOTALL)
_PARTS = re.compile(r"([^\r\n]*)(\r\n|\r|\n)?")


class OpenFence:
    """Takes the lines after the opening one. Only new text is looked at, whatever the length so far."""

    def __init__(self, opening: str) -> None:
        match = _OPENING.match(opening)
        assert match is not None
        self._indent, marks = len(match.group(1)), match.group(2)
        self.language = language_of(match.group(3))
        mark, count = re.escape(marks[0]), len(marks)
        self._closing = re.compile(rf" {{0,3}}{mark}{{{count},}}[ \t]*")
        self._may_close = re.compile(rf" {{0,3}}{mark}*[ \t]*")
        # The end of a line is shown with the next line: that of the last one belongs to the fence.
        self._line_end = ""
        self._head = ""
        self._is_inside_line = False
        self.rest: str | None = None

    @property
    def html(self) -> tuple[str, str]:
        """What stands before and after the text of this fence."""
        return f"{opening_html(self.language)}>", "</code></pre>\n"

    def feed(self, text: str) -> str:
        """The HTML that `text` adds. Once the fence is closed, `rest` is what comes after it."""
        shown: list[str] = []
        for match in _PARTS.finditer(text):
            part, end = match.groups(default="")
            if end and not self._is_inside_line and self._closing.fullmatch(self._head + part):
                self.rest = text[match.end() :]
                break
            shown.append(self._show(part, end))
        return escape("".join(shown))

    def _show(self, part: str, end: str) -> str:
        """What is to be shown of a part of a line; its beginning waits while it may close the fence."""
        shown = part
        if not self._is_inside_line:
            self._head += part
            if not end and self._may_close.fullmatch(self._head):
                return ""
            shown, self._head = self._line_end + self._without_indent(self._head), ""
        self._is_inside_line = not end
        if end:
            self._line_end = end
        return shown

    def _without_indent(self, line: str) -> str:
        blanks = len(line) - len(line.lstrip(" "))
        return line[min(blanks, self._indent) :]
