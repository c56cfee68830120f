"""Memory kept by an OpenViking server: it is told whole batches over HTTP, learns from them, and is asked.

It learns by itself and in its own time, so nothing that it was told can be taken back from here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, urlsplit

import orjson

from api.clock import Clock
from api.concurrency import new_lock
from api.errors import InvalidRequest
from api.memory.base import (
    FACT,
    FACT_LIMIT,
    PREFERENCE,
    RECALL_LIMIT,
    USER,
    Ask,
    Asked,
    CommitResult,
    Did,
    Entry,
    Fact,
    Health,
    MemoryFailed,
    MemoryTool,
    Source,
    text_argument,
)
from api.memory.query import telling_words
from api.text import clean_json

if TYPE_CHECKING:
    from api.memory.bounded_http import BoundedHttp

BATCH_LIMIT = 100
LOWEST_SCORE = 0.15
# Among what is found are summaries of whole folders, which say nothing; so many more are asked for.
SUMMARIES = 18
# What the server answered once is believed for so long.
HEALTH_S = 10.0
_MESSAGE_LIMIT = 200
_HIDDEN = "•••"
_ROLES = ("user", "assistant")
_GOOD = "OpenViking keeps what it was told: turns that are undone or erased later are not taken back there."
_ELSEWHERE = "These facts are kept by OpenViking; look at them and change them there."
_UNKNOWN_SESSION = "NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Account:
    """Where an OpenViking server is, and who asks it. `agent` is the peer that memories are filed under."""

    endpoint: str
    api_key: str | None = field(default=None, repr=False)
    account: str | None = None
    user: str | None = None
    agent: str = "talaria"

    @property
    def host(self) -> str:
        """Host and port, as a person reads them."""
        return urlsplit(self.endpoint).netloc

    def headers(self) -> dict[str, str]:
        """Without a key the server is told who asks; a key says it by itself, unless more was given."""
        tenant = {"X-OpenViking-Account": self.account, "X-OpenViking-User": self.user}
        if self.api_key:
            keys = {"X-API-Key": self.api_key, "Authorization": f"Bearer {self.api_key}"}
        else:
            keys = {}
            tenant = {name: value or "default" for name, value in tenant.items()}
        named = {name: value for name, value in tenant.items() if value}
        return {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "X-OpenViking-Actor-Peer": self.agent,
            **named,
            **keys,
        }

    def without_secrets(self, text: str) -> str:
        return text.replace(self.api_key, _HIDDEN) if self.api_key else text


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call may take in all, in seconds. Who waits for a recall gives it two."""

    health_s: float = 2.0
    look_s: float = 5.0
    recall_s: float = 1.8
    write_s: float = 30.0


class _Refused(Exception):
    """The server has answered with an error: its status, its word for it, its sentence."""

    def __init__(self, status: int, word: str, sentence: str) -> None:
        super().__init__(word)
        self.status = status
        self.word = word
        self.sentence = sentence


class OpenVikingMemory:
    """Tells an OpenViking server each batch once, under the id of the batch, and recalls from it."""

    name = "openviking"
    remembers = True

    def __init__(self, account: Account, clock: Clock, patience: Patience | None = None) -> None:
        self._account = account
        self._clock = clock
        self._patience = patience or Patience()
        self._lock = new_lock()
        self._http: BoundedHttp | None = None
        self._health = Health(False, f"OpenViking at {account.host} was not asked yet.")
        self._asked_at: float | None = None

    # What the rooms above ask.

    def recall(self, query: str, session_id: str, limit: int) -> Sequence[Fact]:
        """What OpenViking finds for a question, best first."""
        words = telling_words(query)
        if not words:
            return ()
        body = {
            "query": " ".join(words),
            "limit": limit + SUMMARIES,
            "score_threshold": LOWEST_SCORE,
            "context_type": "memory",
        }
        found = self._call("POST", "/api/v1/search/search", body, self._patience.recall_s)
        memories = found.get("memories") if isinstance(found, dict) else None
        if not isinstance(memories, list):
            return ()
        facts = (_fact(memory) for memory in memories if isinstance(memory, dict))
        return [fact for fact in facts if fact is not None][:limit]

    def sync_turn(self, session_id: str, turn_id: str, entries: Sequence[Entry]) -> None:
        """Nothing: a turn can still be undone, and what was sent cannot be taken back."""

    def on_session_end(
        self, session_id: str, batch_id: str, entries: Sequence[Entry], ask: Ask | None
    ) -> CommitResult:
        """Send the messages that are not there yet, and let OpenViking learn from them.

        Its session has the id of the batch, so that a repeat finds what an earlier try has left.
        """
        messages = [_message(entry) for entry in entries if entry.role in _ROLES and entry.text.strip()]
        if not messages:
            return CommitResult()
        path = f"/api/v1/sessions/{quote(batch_id, safe='')}"
        there = self._session(path)
        sent = _stored(there, len(messages))
        for start in range(sent, len(messages), BATCH_LIMIT):
            piece = {"messages": messages[start : start + BATCH_LIMIT]}
            self._call("POST", f"{path}/messages/batch", piece, self._patience.write_s)
        if sent < len(messages) or not _is_committed(there):
            self._call("POST", f"{path}/commit", {"keep_recent_count": 0}, self._patience.write_s)
        return CommitResult()

    def on_turns_undone(self, session_id: str, turn_ids: Sequence[str]) -> None:
        """Nothing: OpenViking was told nothing before the boundary, and forgets nothing after it."""

    def on_turns_restored(self, session_id: str, turn_ids: Sequence[str]) -> None:
        """Nothing was withdrawn."""

    def on_message_erased(self, session_id: str, message_id: int) -> None:
        """Nothing: what it has made of a message is not known here."""

    def tools(self) -> Sequence[MemoryTool]:
        return (
            MemoryTool(
                "recall",
                "Look up what the user has said in earlier conversations.",
                {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
                self._look_up,
            ),
        )

    def facts(
        self, query: str = "", state: str | None = None, before: str | None = None, limit: int = 50
    ) -> tuple[Sequence[Fact], str | None]:
        """Raises `InvalidRequest`, as all changes that follow here: the facts are not ours."""
        _refuse()

    def known(self, fact_ids: Sequence[str]) -> Sequence[Fact]:
        """None: a fact is found there by its words alone."""
        return ()

    def learned_in(self, session_id: str) -> Mapping[str, Sequence[str]]:
        """Nothing: what it has learned of a batch it does not say."""
        return {}

    def add(self, text: str, kind: str = FACT, source: Source | None = None, origin: str = USER) -> Fact:
        _refuse()

    def update(self, fact_id: str, text: str | None = None, kind: str | None = None) -> Fact:
        _refuse()

    def delete(self, fact_id: str) -> Fact:
        _refuse()

    def restore(self, fact_id: str) -> Fact:
        _refuse()

    def accept(self, fact_id: str) -> Fact:
        _refuse()

    def refuse(self, fact_id: str) -> Fact:
        _refuse()

    def health(self) -> Health:
        """How the server is; asked at most once in `HEALTH_S`, and by one thread at a time."""
        now = self._clock.monotonic()
        with self._lock:
            if self._asked_at is not None and now - self._asked_at < HEALTH_S:
                return self._health
            self._asked_at = now
        health = self._ask_health()
        with self._lock:
            self._health = health
        return health

    def close(self) -> None:
        """Cut what is under way."""
        self._network().close()

    # Calls.

    def _ask_health(self) -> Health:
        try:
            self._call("GET", "/health", None, self._patience.health_s)
        except MemoryFailed as exc:
            return Health(False, exc.message)
        return Health(True, _GOOD)

    def _session(self, path: str) -> Mapping[str, Any]:
        """What OpenViking has of a session; nothing where it does not know it."""
        try:
            found = self._answer("GET", path, None, self._patience.look_s)
        except _Refused as exc:
            if exc.status == 404 or exc.word == _UNKNOWN_SESSION:
                return {}
            raise self._failed(exc) from exc
        return found if isinstance(found, dict) else {}

    def _call(self, method: str, path: str, body: Any, timeout_s: float) -> Any:
        """The result of a call. Raises `MemoryFailed`."""
        try:
            return self._answer(method, path, body, timeout_s)
        except _Refused as exc:
            raise self._failed(exc) from exc

    def _answer(self, method: str, path: str, body: Any, timeout_s: float) -> Any:
        """The result of a call. Raises `_Refused`, and `MemoryFailed` where no answer of OpenViking came."""
        raw = None if body is None else orjson.dumps(clean_json(body))
        host = self._account.host
        try:
            answer = self._network().send(
                method, self._account.endpoint + path, self._account.headers(), raw, timeout_s
            )
        except TimeoutError as exc:
            raise MemoryFailed(f"OpenViking at {host} did not answer within {timeout_s:g} seconds.") from exc
        except ConnectionError as exc:
            raise MemoryFailed(f"OpenViking at {host} cannot be reached, or broke off.") from exc
        return self._read(answer.status, answer.body)

    def _read(self, status: int, raw: bytes) -> Any:
        host = self._account.host
        if 300 <= status < 400:
            raise MemoryFailed(f"OpenViking at {host} answers from another address; name that one.")
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError:
            body = None
        told = body if isinstance(body, dict) else {}
        if status >= 400 or told.get("status") == "error":
            error = told.get("error")
            error = error if isinstance(error, dict) else {}
            raise _Refused(status, str(error.get("code", "")), str(error.get("message", "")))
        if not told:
            raise MemoryFailed(f"What answers at {host} is not OpenViking.")
        return told.get("result")

    def _failed(self, refused: _Refused) -> MemoryFailed:
        """The error of the server in a sentence that a person can read, and that holds no key."""
        host = self._account.host
        if refused.status in (401, 403):
            return MemoryFailed(f"OpenViking at {host} does not accept the key in OPENVIKING_API_KEY.")
        said = " ".join(f"{refused.word}: {refused.sentence}".split()).strip(": ")
        said = self._account.without_secrets(said)[:_MESSAGE_LIMIT] or f"status {refused.status}"
        return MemoryFailed(f"OpenViking at {host} reports an error ({said}).")

    def _network(self) -> "BoundedHttp":
        """The HTTP library, loaded by the first who needs it."""
        with self._lock:
            if self._http is None:
                from api.memory.bounded_http import BoundedHttp

                self._http = BoundedHttp(self._clock.monotonic)
            return self._http

    def _look_up(self, asked: Asked, arguments: Any) -> Did:
        found = self.recall(text_argument(arguments, "query"), asked.source.session_id, RECALL_LIMIT)
        return Did("\n".join(f"- {fact.text}" for fact in found) or "Nothing is known about this.")


def _message(entry: Entry) -> dict[str, Any]:
    return {"role": entry.role, "parts": [{"type": "text", "text": entry.text}]}


def _stored(session: Mapping[str, Any], count: int) -> int:
    """How many of a batch's messages a session was given: live ones, and those that it has learned from."""
    total = session.get("total_message_count")
    if not isinstance(total, int):
        total = count if _number(session, "commit_count") else _number(session, "message_count")
    return min(total, count)


def _is_committed(session: Mapping[str, Any]) -> bool:
    """Whether a session that was given all its messages has none left to learn from."""
    return _number(session, "message_count") == 0


def _number(session: Mapping[str, Any], name: str) -> int:
    value = session.get(name)
    return value if isinstance(value, int) else 0


def _fact(memory: Mapping[str, Any]) -> Fact | None:
    """A memory as a fact, its address is its id; None for a summary that OpenViking made of a folder."""
    uri = str(memory.get("uri") or "")
    if uri.rsplit("/", 1)[-1].startswith("."):
        return None
    told = next((memory[name] for name in ("abstract", "overview", "content") if memory.get(name)), None)
    if not isinstance(told, str) or not uri:
        return None
    kind = PREFERENCE if "/preferences/" in uri else FACT
    return Fact(uri, " ".join(told.split())[:FACT_LIMIT], kind)


def _refuse() -> NoReturn:
    raise InvalidRequest(_ELSEWHERE)
