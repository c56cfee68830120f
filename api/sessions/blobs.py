"""Images and files of conversations: stored once by their SHA-256, named as `blob:<sha256>`."""

import base64
import binascii
import hashlib
import math
import mimetypes
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from api import files
from api.errors import InvalidRequest, NotFound, UnsupportedFile
from api.sessions.content import clean_title

TEXT_LIMIT = 256 * 1024
UPLOAD_LIMIT = 25 * 1024 * 1024
NAME_LIMIT = 120
PREFIX = "blob:"
# As many bytes as `sniff` looks at.
SNIFFED = 12
_GONE = "This file is not there (any more)."

_ID = re.compile(r"(?:blob:)?([0-9a-f]{64})\Z")
_NAMED = re.compile(rb"blob:([0-9a-f]{64})")
_INLINE = re.compile(r"data:[\w.+/-]*;base64,", re.IGNORECASE)
# The first bytes of the raster images that every browser shows and providers take.
_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


@dataclass(frozen=True, slots=True)
class Attachment:
    """A stored file as a message names it; `size` in bytes."""

    id: str
    filename: str
    size: int
    mime: str
    is_image: bool


class Blobs:
    """The folder of blobs. What is in it never changes; what nobody names any more is removed."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = files.make_folder(state_dir / "blobs")
        self._namers = [state_dir / name for name in ("sessions", "trash", "drafts")]

    def put(self, data: bytes, filename: str = "") -> Attachment:
        """Keep `data`, durable on return. Raises `UnsupportedFile`, `StorageFailed`."""
        digest = hashlib.sha256(data).hexdigest()
        attachment = _describe(digest, data, filename)
        path = self._folder / digest
        try:
            # It counts as new, so that it stays until something names it.
            os.utime(path)
        except FileNotFoundError:
            files.write_whole(path, data)
        return attachment

    def read(self, blob_id: str) -> bytes:
        """The bytes of a blob. Raises `NotFound`, also for what is no id."""
        try:
            return self.path(blob_id).read_bytes()
        except OSError:
            raise NotFound(_GONE) from None

    def image_type(self, blob_id: str) -> str | None:
        """The MIME type of a blob that is an image, None for a text. Raises `NotFound`."""
        try:
            with self.path(blob_id).open("rb") as file:
                return sniff(file.read(SNIFFED))
        except OSError:
            raise NotFound(_GONE) from None

    def path(self, blob_id: str) -> Path:
        """Where a blob lies. Raises `NotFound` for what is no id."""
        match = _ID.match(blob_id)
        if match is None:
            raise NotFound("This is no id of a file.")
        return self._folder / match[1]

    def attachments(self, named: Iterable[Any]) -> list[dict[str, Any]]:
        """What a message keeps of the ids or upload answers in `named`. Raises `InvalidRequest`."""
        return [self._attachment(entry) for entry in named]

    def _attachment(self, entry: Any) -> dict[str, Any]:
        about = entry if isinstance(entry, dict) else {"id": entry}
        blob_id, filename = about.get("id"), about.get("filename")
        if not isinstance(blob_id, str) or not isinstance(filename, str | None):
            raise InvalidRequest("An attachment is the id of an uploaded file, or the answer to its upload.")
        try:
            data = self.read(blob_id)
        except NotFound:
            raise InvalidRequest("An attachment is no longer there. Upload the file again.") from None
        return asdict(_describe(self.path(blob_id).name, data, filename or ""))

    def take_inline(self, content: Any) -> Any:
        """`content` with the images that stand in it as data addresses kept as blobs and named."""
        return [self._outlined(part) for part in content] if isinstance(content, list) else content

    def _outlined(self, part: Any) -> Any:
        image = part.get("image_url") if isinstance(part, dict) and part.get("type") == "image_url" else None
        url = image.get("url") if isinstance(image, dict) else None
        start = _INLINE.match(url) if isinstance(url, str) else None
        if image is None or url is None or start is None:
            return part
        try:
            data = base64.b64decode(url[start.end() :], validate=True)
        except (binascii.Error, ValueError):
            return part
        # What is no image is left to the provider to judge.
        return part | {"image_url": image | {"url": self.put(data).id}} if sniff(data) else part

    def sweep(self, older_than: float) -> int:
        """Remove what nothing names and what came before a time in Unix seconds; how many blobs."""
        unnamed = self._unnamed({path.name for path in self._folder.iterdir() if _ID.match(path.name)})
        return sum(_remove(self._folder / digest, older_than) for digest in unnamed)

    def drop(self, named: Any) -> None:
        """Remove the blobs that `named`, a JSON value, has named, as far as nothing names them any more."""
        for digest in self._unnamed(digests_in(named)):
            _remove(self._folder / digest, math.inf)

    def _unnamed(self, digests: set[str]) -> set[str]:
        """Those of `digests` that stand in no file of a chat, damaged ones and unknown fields too."""
        left = set(digests)
        for path in (path for folder in self._namers for path in folder.glob("*")):
            if not left:
                break
            with suppress(OSError):
                left -= {match.decode() for match in _NAMED.findall(path.read_bytes())}
        return left


def digests_in(named: Any) -> set[str]:
    """What tells the blobs apart that a JSON value names."""
    return {match.decode() for match in _NAMED.findall(orjson.dumps(named))}


def _remove(path: Path, older_than: float) -> bool:
    with suppress(FileNotFoundError):
        if path.stat().st_mtime < older_than:
            path.unlink()
            return True
    return False


def sniff(data: bytes) -> str | None:
    """The MIME type of a raster image, told by its first bytes; None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for start, mime in _IMAGES.items() if data.startswith(start)), None)


def data_url(data: bytes) -> str:
    """An image as an address that holds it."""
    return f"data:{sniff(data) or 'application/octet-stream'};base64,{base64.b64encode(data).decode()}"


def _describe(digest: str, data: bytes, filename: str) -> Attachment:
    image = sniff(data)
    name = _clean_name(filename)
    if image:
        fallback = f"image.{image.partition('/')[2]}"
        return Attachment(PREFIX + digest, name or fallback, len(data), image, True)
    _check_text(data, name)
    mime = mimetypes.guess_type(name)[0] or "text/plain"
    return Attachment(PREFIX + digest, name or "file.txt", len(data), mime, False)


def _check_text(data: bytes, name: str) -> None:
    shown = name or "This file"
    if not data:
        raise UnsupportedFile(f"{shown} is empty.")
    try:
        is_text = "\0" not in data.decode("utf-8-sig")
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        raise UnsupportedFile(f"{shown} is neither an image (PNG, JPEG, GIF, WebP) nor a text in UTF-8.")
    if len(data) > TEXT_LIMIT:
        raise UnsupportedFile(
            f"{shown} is a text of more than {TEXT_LIMIT // 1024} KB. Send the part that matters."
        )


def _clean_name(filename: str) -> str:
    """The last part of a file name as one visible line; never a path."""
    last = filename.replace("\\", "/").rpartition("/")[2]
    return clean_title(last, NAME_LIMIT).strip(". ") and clean_title(last, NAME_LIMIT)
