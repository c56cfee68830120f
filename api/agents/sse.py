"""A decoder of server-sent events: bytes cut anywhere go in, whole events come out."""

from api.errors import AgentError

MAX_EVENT_BYTES = 8 * 1024 * 1024
DEFAULT_EVENT = "message"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventDecoder:
    """Decodes one stream as the WHATWG standard says, and delivers a last event that no blank line ends.

    Works on bytes and decodes each line's value alone: the line ends are ASCII, so no character is
    ever cut, and an invalid byte costs only itself.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._unfinished = bytearray()
        self._after_cr = False
        self._is_first_line = True
        self._is_too_large = False
        self._event = ""
        self._data: list[str] = []
        self._data_size = 0

    def feed(self, piece: bytes) -> list[tuple[str, str]]:
        """The events that `piece` completes. Raises `AgentError` after one grew beyond the limit."""
        self._refuse_too_large()
        piece = self._with_plain_line_ends(piece)
        head, line_end, tail = piece.rpartition(b"\n")
        if not line_end:
            self._keep(tail)
            return []
        lines = head.split(b"\n")
        lines[0] = self._first_of(lines[0])
        events = self._read(lines)
        self._keep(tail)
        return events

    def finish(self) -> list[tuple[str, str]]:
        """The last event, if the stream ended before its blank line."""
        self._refuse_too_large()
        events = self._read([self._first_of(b""), b""])
        self._refuse_too_large()
        return events

    def _with_plain_line_ends(self, piece: bytes) -> bytes:
        """`piece` with CR and CR LF turned into LF, also where a pair is cut over two pieces."""
        if self._after_cr and piece:
            self._after_cr = False
            if piece.startswith(b"\n"):
                piece = piece[1:]
        if b"\r" in piece:
            self._after_cr = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return piece

    def _keep(self, tail: bytes) -> None:
        """Hold the beginning of a line; it grows in place, so many small pieces cost linear time."""
        if tail:
            self._unfinished += tail
            if len(self._unfinished) + self._data_size > self._max:
                self._is_too_large = True

    def _first_of(self, line: bytes) -> bytes:
        """The whole first line, of which `line` is the end."""
        if self._unfinished:
            line = bytes(self._unfinished + line)
            self._unfinished = bytearray()
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(BYTE_ORDER_MARK)
        return line

    def _read(self, lines: list[bytes]) -> list[tuple[str, str]]:
        events = []
        for line in lines:
            if line.startswith(b"data:"):
                value = line[6:] if line[5:6] == b" " else line[5:]
                self._data_size += len(line)
                if self._data_size > self._max:
                    self._is_too_large = True
                    break
                self._data.append(value.decode("utf-8", "replace"))
            elif line:
                self._read_field(line)
            else:
                if self._data:
                    events.append((self._event or DEFAULT_EVENT, "\n".join(self._data)))
                    self._data = []
                    self._data_size = 0
                self._event = ""
        return events

    def _read_field(self, line: bytes) -> None:
        """Take a line other than `data:`; comments, `id`, `retry` and unknown fields mean nothing here."""
        if line == b"data":
            self._data.append("")
        elif line.startswith(b"event:"):
            self._event = line[6:].removeprefix(b" ").decode("utf-8", "replace")
        elif line == b"event":
            self._event = ""

    def _refuse_too_large(self) -> None:
        if self._is_too_large:
            raise AgentError(
                f"The provider sent a piece of more than {self._max >> 20} MiB, which was refused.",
                hint="Try again, or choose another model.",
            )
