"""A Markdown text as lines: what the parser reads, and how each line really ended."""

import re
from dataclasses import dataclass, field

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Source:
    """`clean` is what the parser reads; `ends` names the lines that did not end by a line feed alone."""

    raw: str
    clean: str
    starts: list[int] = field(repr=False)
    ends: dict[int, str] = field(repr=False)

    @classmethod
    def of(cls, text: str) -> "Source":
        starts, ends = [0], {}
        for number, match in enumerate(_LINE_END.finditer(text)):
            starts.append(match.end())
            if match.group() != "\n":
                ends[number] = match.group()
        clean = _LINE_END.sub("\n", text) if ends else text
        return cls(text, clean.replace("\0", "\ufffd"), starts, ends)

    @property
    def complete_lines(self) -> int:
        """How many lines have their end."""
        return len(self.starts) - 1

    def offset(self, line: int) -> int:
        """Where a line begins in the raw text; a line past the last one begins at its end."""
        return self.starts[line] if line < len(self.starts) else len(self.raw)

    def slice(self, first: int, end: int) -> str:
        """The raw text of the lines from `first` up to, without, `end`."""
        return self.raw[self.offset(first) : self.offset(end)]

    def is_blank(self, line: int) -> bool:
        return not self.slice(line, line + 1).strip(" \t\r\n")

    def with_ends(self, content: str, first: int) -> str:
        """`content`, whose lines are those from `first` on, with the line ends that the text has."""
        if not self.ends:
            return content
        lines = content.split("\n")
        last = len(lines) - 1
        return "".join(
            line + ("" if n == last else self.ends.get(first + n, "\n")) for n, line in enumerate(lines)
        )
