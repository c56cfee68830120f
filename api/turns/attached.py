"""The files of messages in the shape that a provider takes: images as data, texts as fenced parts."""

import re
from collections.abc import Callable
from typing import Any

from api.errors import NotFound
from api.sessions.blobs import PREFIX, data_url, sniff

Read = Callable[[str], bytes]
ATTACHMENT = "attachment"
_TICKS = re.compile("`+")


def resolve(messages: list[dict[str, Any]], read: Read, vision: bool | None) -> list[dict[str, Any]]:
    """`messages` with every attachment and every image named as a blob put in as it is.

    `vision` False: images are mentioned and not sent. A file that is gone is mentioned too.
    """
    return [_resolved(message, read, vision) for message in messages]


def _resolved(message: dict[str, Any], read: Read, vision: bool | None) -> dict[str, Any]:
    if not isinstance(message["content"], list):
        return message
    return message | {"content": [_part(part, read, vision) for part in message["content"]]}


def _part(part: dict[str, Any], read: Read, vision: bool | None) -> dict[str, Any]:
    if part["type"] == ATTACHMENT:
        return _file(part["id"], part["filename"], read, vision)
    url = part["image_url"].get("url") if isinstance(part.get("image_url"), dict) else None
    if part["type"] != "image_url" or not isinstance(url, str):
        return part
    if vision is False:
        return _mention("image", "this model takes no images")
    if not url.startswith(PREFIX):
        return part
    try:
        return part | {"image_url": part["image_url"] | {"url": data_url(read(url))}}
    except NotFound:
        return _mention("image", "the file is gone")


def _file(blob_id: str, name: str, read: Read, vision: bool | None) -> dict[str, Any]:
    try:
        data = read(blob_id)
    except NotFound:
        return _mention(name, "the file is gone")
    if not sniff(data):
        return {"type": "text", "text": _fenced(name, data.decode("utf-8-sig", "replace"))}
    if vision is False:
        return _mention(name, "this model takes no images")
    return {"type": "image_url", "image_url": {"url": data_url(data)}}


def _mention(name: str, why: str) -> dict[str, Any]:
    return {"type": "text", "text": f"[{name}: {why}]"}


def _fenced(name: str, text: str) -> str:
    """A text under its name, in a fence that is longer than any in it."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{name}\n{fence}\n{text}\n{fence}"
