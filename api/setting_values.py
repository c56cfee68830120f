"""What the value of a setting may be: each function takes it as it was written and raises `ValueError`."""

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

# What the paths of Talaria itself begin with.
OWN_PATHS = ("api", "health", "static")


def as_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text")
    return value


def as_port(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str) or not 0 <= int(value) <= 65535:
        raise ValueError("must be a number from 0 to 65535")
    return int(value)


def as_switch(value: Any) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False}
    words |= {"off": False, "": False}
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.lower() not in words:
        raise ValueError("must be 1 or 0")
    return words[value.lower()]


def as_names(value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError("must be names with commas between them")
    return tuple(name.strip().lower() for name in names if name.strip())


def as_path(value: Any) -> Path:
    try:
        return Path(as_text(value)).expanduser().absolute()
    except RuntimeError as exc:
        raise ValueError("must be a path; the home folder in it is unknown") from exc


def as_agent(value: Any) -> str:
    if value not in ("openai", "embedded"):
        raise ValueError("must be openai or embedded")
    return str(value)


def as_memory(value: Any) -> str:
    if value not in ("local", "openviking", "none"):
        raise ValueError("must be local, openviking or none")
    return str(value)


def as_seconds(value: Any) -> float:
    number = (
        value if isinstance(value, int | float) and not isinstance(value, bool) else float(as_text(value))
    )
    if not 0 < number < 10**9:
        raise ValueError("must be a number of seconds above 0")
    return number


def as_url(value: Any) -> str:
    if not as_text(value).startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    return str(value).rstrip("/")


def as_service(value: Any) -> str:
    """The address of a service: a host and perhaps a path, and no secret in it."""
    url = as_url(value)
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole or not url.isascii() or not url.isprintable() or " " in url or re.search(r"[@?#\\]", url):
        raise ValueError("must be an address such as http://127.0.0.1:1933, without a user or a password")
    return url


def as_word(value: Any) -> str:
    """What can stand in the head of a request."""
    word = as_text(value).strip()
    if not word or not word.isascii() or not word.isprintable():
        raise ValueError("must be one line of plain letters, digits and signs")
    return word


def as_host(value: Any) -> str:
    host = as_text(value).strip()
    try:
        return host if host == "localhost" else str(ip_address(host))
    except ValueError as exc:
        raise ValueError(f"must be an IP address, not {host!r}") from exc


def as_base_path(value: Any) -> str:
    parts = [part for part in as_text(value).split("/") if part]
    if not all(re.fullmatch(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*", part) for part in parts):
        raise ValueError("must be a path of letters and digits, such as /talaria/")
    if parts and parts[0] in OWN_PATHS:
        # A prefix is taken off where the proxy has left it on; here that could not be told.
        raise ValueError(f"must not begin with /{parts[0]}/, a path of Talaria; take /talaria/")
    return "/".join(("", *parts, ""))
