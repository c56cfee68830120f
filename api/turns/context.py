"""Which messages fit into a model's context: the oldest turns are left out, whole ones only."""

from collections.abc import Sequence
from typing import Any

import orjson

# A guess on the safe side: English has about four bytes a token, code and other scripts fewer.
BYTES_A_TOKEN = 3
MESSAGE_TOKENS = 8
# Providers scale an image down; what it costs has nothing to do with its bytes.
IMAGE_TOKENS = 1200
REPLY_SHARE = 0.15

Messages = list[dict[str, Any]]


def fit(messages: Messages, limit_tokens: int | None) -> Messages:
    """The newest turns that fit beside a reply into `limit_tokens`; all of them where that is unknown."""
    if limit_tokens is None:
        return messages
    room = limit_tokens * (1 - REPLY_SHARE)
    head, turns = _turns(messages)
    sizes = [_tokens(turn) for turn in turns]
    needed, first = _tokens(head) + sum(sizes), 0
    while first < len(turns) - 1 and needed > room:
        needed -= sizes[first]
        first += 1
    return _joined(head, turns[first:])


def newer_half(messages: Messages) -> Messages | None:
    """Without the older half of the turns; None where only one turn is left."""
    head, turns = _turns(messages)
    return _joined(head, turns[(len(turns) + 1) // 2 :]) if len(turns) > 1 else None


def _turns(messages: Messages) -> tuple[Messages, list[Messages]]:
    """The system messages at the beginning, and the rest cut before each user message."""
    start = next((place for place, m in enumerate(messages) if m["role"] != "system"), len(messages))
    turns: list[Messages] = []
    for message in messages[start:]:
        if message["role"] == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return messages[:start], turns


def _joined(head: Messages, turns: Sequence[Messages]) -> Messages:
    return head + [message for turn in turns for message in turn]


def _tokens(messages: Messages) -> float:
    return sum(map(_message_tokens, messages))


def _message_tokens(message: dict[str, Any]) -> float:
    parts = message["content"] if isinstance(message["content"], list) else []
    images = [part for part in parts if part.get("type") == "image_url"]
    words = message | {"content": [p for p in parts if p not in images]} if images else message
    return len(orjson.dumps(words)) / BYTES_A_TOKEN + MESSAGE_TOKENS + len(images) * IMAGE_TOKENS
