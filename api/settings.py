"""The settings of a process: flags win over the environment, the environment over `settings.json`."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import platformdirs

from api.errors import InvalidRequest, UsageError
from api.files import write_whole
from api.setting_rows import SETTINGS, Setting

FILE = "settings.json"
_SCHEMA_VERSION = 1
FLAG, ENVIRONMENT, STORED, DEFAULT = "flag", "environment", "settings", "default"
PASSWORD_FILE = "password"
LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the process was told, checked and complete. Text fields are None where nothing was said.

    `sources` tells for each row of `SETTINGS` where its value stands: flag, environment, settings, default;
    `stored` is what `settings.json` held at the start.
    """

    host: str
    port: int
    state_dir: Path
    token_file: Path | None
    token: str | None
    password_file: Path | None
    password: str | None
    behind_tls: bool
    insecure_lan: bool
    no_browser: bool
    allow_hosts: tuple[str, ...]
    base_path: str
    exit_with_parent: bool
    agent: str | None
    memory: str
    memory_idle_s: float
    openviking_endpoint: str | None
    openviking_api_key: str | None
    openviking_account: str | None
    openviking_user: str | None
    openviking_agent: str
    openai_base_url: str | None
    openai_model: str | None
    openai_api_key: str | None
    sources: Mapping[str, str]
    stored: Mapping[str, Any]

    def __repr__(self) -> str:
        # A settings value must never carry a secret into a log.
        return f"Settings(state_dir={self.state_dir!s}, host={self.host}, port={self.port})"


def _default_state_dir() -> Path:
    return Path(platformdirs.user_data_dir("talaria", appauthor=False))


def environment() -> Mapping[str, str]:
    """The environment of this process; only what is handed on to a child process needs it whole."""
    return dict(os.environ)


def load(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """The settings of this start. `flags` maps names of `SETTINGS` to values; None means not given.

    Raises `UsageError` for a value that cannot be, naming where it stands.
    """
    values = {row.name: _value(row, flags, environ, {}) for row in SETTINGS if not row.stored}
    values["state_dir"] = values["state_dir"] or _default_state_dir()
    stored = read_stored(values["state_dir"])
    values |= {row.name: _value(row, flags, environ, stored) for row in SETTINGS if row.stored}
    values["sources"] = {row.name: _source(row, flags, environ, stored) for row in SETTINGS}
    _check_reach(values)
    _check_memory(values)
    # Without a display the only browsers are text ones, which would take the terminal over.
    has_display = sys.platform != "linux" or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    values["no_browser"] = values["no_browser"] or not has_display
    return Settings(**values, stored=stored)


def state_folder(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Path:
    """The state folder alone, for commands that need no other setting. Raises `UsageError`."""
    row = next(row for row in SETTINGS if row.name == "state_dir")
    return Path(_value(row, flags, environ, {}) or _default_state_dir())


def _check_reach(values: Mapping[str, Any]) -> None:
    """Raises `UsageError` for an address that others can reach without the protection that it needs."""
    host = values["host"]
    if host in LOOPBACK_HOSTS:
        return
    if not (values["behind_tls"] or values["insecure_lan"]):
        raise UsageError(
            f"Other machines can reach {host}. Give --behind-tls where a reverse proxy with TLS stands in "
            "front, or --insecure-lan to do without."
        )
    has_kept = (values["state_dir"] / PASSWORD_FILE).exists()
    if not (values["password"] or values["password_file"] or has_kept):
        raise UsageError(
            f"Other machines can reach {host}, which needs a password: python3 run.py password sets one."
        )


def _check_memory(values: Mapping[str, Any]) -> None:
    """Raises `UsageError` for a memory that cannot be had."""
    if values["memory"] == "openviking" and not values["openviking_endpoint"]:
        raise UsageError(
            "The memory openviking needs the address of its server: set OPENVIKING_ENDPOINT, for example to "
            "http://127.0.0.1:1933."
        )


def _value(
    row: Setting, flags: Mapping[str, Any], environ: Mapping[str, str], stored: Mapping[str, Any]
) -> Any:
    source = _source(row, flags, environ, stored)
    if source == FLAG:
        return _parsed(row, flags[row.name], row.flag or row.name)
    if source == ENVIRONMENT:
        return _parsed(row, environ[str(row.environment)], str(row.environment))
    if source == STORED:
        return _parsed(row, stored[row.name], f"{row.name} in {FILE}")
    return row.default


def _source(
    row: Setting, flags: Mapping[str, Any], environ: Mapping[str, str], stored: Mapping[str, Any]
) -> str:
    flag = flags.get(row.name)
    # 0 is a port and equals False: what was not given is told by identity.
    if not (flag is None or flag is False or flag == ()):
        return FLAG
    if row.environment and environ.get(row.environment):
        return ENVIRONMENT
    return STORED if stored.get(row.name) is not None else DEFAULT


def _parsed(row: Setting, value: Any, place: str) -> Any:
    try:
        return row.parse(value)
    except ValueError as exc:
        reason = str(exc) if str(exc).startswith("must") else "cannot be read"
        raise UsageError(f"{place} {reason}.") from exc


def read_stored(state_dir: Path) -> Mapping[str, Any]:
    """The values in `settings.json`; none without one. Raises `UsageError` for a file that holds none."""
    path = state_dir / FILE
    try:
        stored = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as exc:
        raise UsageError(f"{path} cannot be read ({exc}). Mend it or move it away.") from exc
    if not isinstance(stored, dict):
        raise UsageError(f"{path} holds no settings. Mend it or move it away.")
    if stored.pop("schema_version", _SCHEMA_VERSION) != _SCHEMA_VERSION:
        raise UsageError(f"{path} was written by a newer Talaria. Update Talaria to use it.")
    unknown = set(stored) - {row.name for row in SETTINGS if row.stored}
    if unknown:
        raise UsageError(f"{path} holds a setting that Talaria does not know: {sorted(unknown)}.")
    return stored


def store(settings: Settings, changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep values for the next start, None for the default; all that is kept then.

    Raises `InvalidRequest` for a setting that is unknown, has a value that cannot be, or was given at the
    start by a flag or the environment, which would win.
    """
    rows = {row.name: row for row in SETTINGS}
    for name, value in changes.items():
        if name not in rows:
            raise InvalidRequest(f"There is no setting {name!r}.")
        if not is_editable(settings, rows[name]):
            raise InvalidRequest(f"{name} is set at the start and cannot be changed here.")
        if value is not None:
            _parsed_request(rows[name], value)
    kept = {n: v for n, v in {**read_stored(settings.state_dir), **changes}.items() if v is not None}
    _check_next_start(settings, kept)
    raw = orjson.dumps({"schema_version": _SCHEMA_VERSION, **kept}, option=orjson.OPT_INDENT_2)
    write_whole(settings.state_dir / FILE, raw)
    return kept


def _check_next_start(settings: Settings, kept: Mapping[str, Any]) -> None:
    """A page must not set up a start that would be refused."""
    values = {row.name: getattr(settings, row.name) for row in SETTINGS}
    for row in SETTINGS:
        if is_editable(settings, row):
            values[row.name] = row.parse(kept[row.name]) if row.name in kept else row.default
    try:
        _check_reach(values)
        _check_memory(values)
    except UsageError as exc:
        raise InvalidRequest(exc.message) from exc


def is_editable(settings: Settings, row: Setting) -> bool:
    """Whether a value in `settings.json` would count at the next start."""
    return row.stored and settings.sources[row.name] in (STORED, DEFAULT)


def _parsed_request(row: Setting, value: Any) -> None:
    try:
        row.parse(value)
    except ValueError as exc:
        reason = str(exc) if str(exc).startswith("must") else "cannot be read"
        raise InvalidRequest(f"{row.name} {reason}.") from exc
