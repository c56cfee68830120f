"""Which addresses a text may link to, and which bare words become links."""

import re
from typing import Any

from linkify_it import LinkifyIt

SCHEMES = frozenset({"http", "https", "mailto"})
REL = "noopener noreferrer nofollow"
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
# Browsers skip these inside an address, so that a scheme could hide behind them.
_SKIPPED = re.compile(r"[\x00-\x20\x7f-\x9f\u200b-\u200f\u2028-\u202e\ufeff]")
_ACTIVE = re.compile(r"(javascript|vbscript|data):", re.IGNORECASE)
# The page takes an access token out of its own address.
_LOGIN = re.compile(r"#(token|code)=", re.IGNORECASE)


def is_safe(url: str) -> bool:
    """Whether a link may lead there: http, https, mailto, or a relative address."""
    bare = _SKIPPED.sub("", url)
    if _LOGIN.search(bare):
        return False
    scheme = _SCHEME.match(bare)
    if scheme:
        return scheme.group(1).lower() in SCHEMES
    # Without a scheme, a colon before any slash is a broken or hidden one.
    return not _ACTIVE.search(bare) and ":" not in re.split(r"[/?#]", bare, maxsplit=1)[0]


def is_absolute(url: str) -> bool:
    """Whether an address names another place than this server; browsers read a backslash as a slash."""
    return bool(_SCHEME.match(url)) or url.replace("\\", "/").startswith("//")


class Linkify(LinkifyIt):  # type: ignore[misc]
    """Finds addresses in plain text. A bare host counts with `www.` only: `run.py` is a file, no site."""

    def match(self, text: str) -> Any:
        found = super().match(text) or []
        return [m for m in found if m.schema or m.text.lower().startswith("www.")]
