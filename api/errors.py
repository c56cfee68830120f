"""The errors a user can meet: each class knows its HTTP status and its machine word."""

from collections.abc import Mapping
from typing import Any


class TalariaError(Exception):
    """A failure with a sentence that says what to do; `web` turns it into one JSON answer."""

    status = 500
    code = "internal"
    sentence = "Something went wrong inside Talaria; the log has the details."

    def __init__(
        self,
        message: str = "",
        *,
        details: Mapping[str, Any] | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        self.message = message or self.sentence
        self.details = dict(details) if details else None
        self.retry_after_s = retry_after_s
        super().__init__(self.message)

    def __str__(self) -> str:
        # KeyError, a base of some subclasses, would print the sentence in quotes.
        return self.message


class InvalidRequest(TalariaError, ValueError):
    status, code = 400, "invalid_request"
    sentence = "The request could not be understood."


class UnsupportedFile(InvalidRequest):
    code = "unsupported_file"


class Unauthorized(TalariaError):
    status, code = 401, "unauthorized"
    sentence = "Open the address that Talaria printed at its start, or send its token as a Bearer token."


class Forbidden(TalariaError):
    status, code = 403, "forbidden"
    sentence = "This request comes from another site and was refused."


class NotFound(TalariaError, KeyError):
    status, code = 404, "not_found"
    sentence = "Session not found"


class MethodNotAllowed(TalariaError):
    status, code = 405, "method_not_allowed"
    sentence = "This address does not answer that method."


class Conflict(TalariaError, ValueError):
    status, code = 409, "conflict"


class Busy(Conflict):
    code = "busy"
    sentence = "A reply is being written in this chat. Stop it first, or wait until it is done."


class StaleRevision(Conflict):
    code = "stale_revision"
    sentence = "This chat has changed since you loaded it. Load it again and repeat."


class NothingToRetry(Conflict):
    code = "nothing_to_retry"
    sentence = "No previous message to retry."


class NothingToUndo(Conflict):
    code = "nothing_to_undo"
    sentence = "Nothing to undo."


class NothingToRedo(Conflict):
    code = "nothing_to_redo"
    sentence = "Nothing to redo."


class NothingToCompress(Conflict):
    code = "nothing_to_compress"
    sentence = "There is nothing to sum up yet: the last two turns always stay as they are."


class UnknownCommand(Conflict):
    code = "unknown_command"


class Damaged(Conflict):
    code = "damaged"
    sentence = "The file of this chat is damaged. It was left as it is."


class NewerVersion(Conflict):
    code = "newer_version"
    sentence = "This chat was written by a newer Talaria. Update Talaria to change it."


class TooLarge(TalariaError):
    status, code = 413, "too_large"
    sentence = "The request is too large."


class UnsupportedMediaType(TalariaError):
    status, code = 415, "unsupported_media_type"
    sentence = "Send JSON, with the header Content-Type: application/json."


class UnknownHost(TalariaError):
    status, code = 421, "unknown_host"
    sentence = (
        "Talaria does not answer to this host name. Use the printed address, or allow it by --allow-host."
    )


class RateLimited(TalariaError):
    status, code = 429, "rate_limited"
    sentence = "Too many tries. Wait a minute."


class Unavailable(TalariaError):
    status, code = 503, "unavailable"
    sentence = "Talaria is busy. Try again in a moment."


class StorageFailed(Unavailable):
    """A file could not be written: the disk is full or the folder cannot be written."""


class UsageError(TalariaError):
    """A start that cannot work as it was asked for; the command line ends with code 2."""

    status, code = 400, "usage"


class AgentError(TalariaError):
    """A turn that a backend could not finish, in the words that the user sees.

    `type` is one of the `apperror` types of the HTTP contract: auth_mismatch, rate_limit,
    quota_exhausted, model_not_found, context_exceeded, no_response, provider_error, unavailable,
    interrupted, storage.
    """

    status, code = 502, "provider_error"

    def __init__(self, message: str, *, type: str = "provider_error", hint: str = "") -> None:
        super().__init__(message)
        self.type = type
        self.hint = hint
