"""The settings of a process: flags win over the environment, the environment over `settings.json`."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import platformdirs

from api.errors import InvalidRequest, UsageError
from api.files import write_whole

FILE = "settings.json"
_SCHEMA_VERSION = 1
FLAG, ENVIRONMENT, STORED, DEFAULT = "flag", "environment", "settings", "default"
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table: its field in `Settings`, its flag, its variable, its default and its meaning.

    `stored` says that it can stand in `settings.json`; `is_switch` that its flag takes no value.
    """

    name: str
    flag: str | None
    environment: str | None
    default: Any
    parse: Callable[[Any], Any]
    help: str
    stored: bool = True
    is_switch: bool = False
    repeatable: bool = False


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text")
    return value


def _port(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str) or not 0 <= int(value) <= 65535:
        raise ValueError("must be a number from 0 to 65535")
    return int(value)


def _switch(value: Any) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False}
    words |= {"off": False, "": False}
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.lower() not in words:
        raise ValueError("must be 1 or 0")
    return words[value.lower()]


def _names(value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError("must be names with commas between them")
    return tuple(name.strip().lower() for name in names if name.strip())


def _path(value: Any) -> Path:
    try:
        return Path(_text(value)).expanduser().absolute()
    except RuntimeError as exc:
        raise ValueError("must be a path; the home folder in it is unknown") from exc


def _agent(value: Any) -> str:
    if value not in ("openai", "embedded"):
        raise ValueError("must be openai or embedded")
    return str(value)


def _url(value: Any) -> str:
    if not _text(value).startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    return str(value).rstrip("/")


def _default_state_dir() -> Path:
    return Path(platformdirs.user_data_dir("talaria", appauthor=False))


SETTINGS = (
    Setting("host", "--host", "TALARIA_HOST", "127.0.0.1", _text, "Address to listen on (loopback only)."),
    Setting("port", "--port", "TALARIA_PORT", 8787, _port, "Port to listen on; 0 takes any free port."),
    Setting(
        "state_dir",
        "--state-dir",
        "TALARIA_STATE_DIR",
        None,
        _path,
        "Folder that holds the conversations; default: `talaria` in the platform's user data folder.",
        stored=False,
    ),
    Setting("token_file", "--token-file", None, None, _path, "File with the access token.", stored=False),
    Setting(
        "token",
        "--token",
        "TALARIA_TOKEN",
        None,
        _text,
        "Access token itself (a flag is visible to other users); default: random, kept in `token`.",
        stored=False,
    ),
    Setting(
        "no_browser", "--no-browser", "TALARIA_NO_BROWSER", False, _switch, "Open no browser.", is_switch=True
    ),
    Setting(
        "allow_hosts",
        "--allow-host",
        "TALARIA_ALLOW_HOSTS",
        (),
        _names,
        "Further host name to answer to.",
        repeatable=True,
    ),
    Setting(
        "exit_with_parent",
        "--exit-with-parent",
        "TALARIA_EXIT_WITH_PARENT",
        False,
        _switch,
        "End when standard input closes.",
        stored=False,
        is_switch=True,
    ),
    Setting(
        "agent",
        "--agent",
        "TALARIA_AGENT",
        None,
        _agent,
        "Default agent; default: `openai` where an endpoint is configured, else `embedded`.",
    ),
    Setting(
        "openai_base_url",
        "--openai-base-url",
        "TALARIA_OPENAI_BASE_URL",
        None,
        _url,
        "OpenAI-compatible endpoint, such as `http://127.0.0.1:11434/v1`.",
    ),
    Setting("openai_model", "--openai-model", "TALARIA_OPENAI_MODEL", None, _text, "Model at that endpoint."),
    Setting(
        "openai_api_key",
        None,
        "TALARIA_OPENAI_API_KEY",
        None,
        _text,
        "Key of that endpoint; never shown, never logged.",
        stored=False,
    ),
)


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
    no_browser: bool
    allow_hosts: tuple[str, ...]
    exit_with_parent: bool
    agent: str | None
    openai_base_url: str | None
    openai_model: str | None
    openai_api_key: str | None
    sources: Mapping[str, str]
    stored: Mapping[str, Any]

    def __repr__(self) -> str:
        # A settings value must never carry a secret into a log.
        return f"Settings(state_dir={self.state_dir!s}, host={self.host}, port={self.port})"


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
    if values["host"] not in ("127.0.0.1", "::1", "localhost"):
        raise UsageError(f"Talaria listens on loopback addresses only, not on {values['host']!r}.")
    # Without a display the only browsers are text ones, which would take the terminal over.
    has_display = sys.platform != "linux" or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    values["no_browser"] = values["no_browser"] or not has_display
    return Settings(**values, stored=stored)


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
    raw = orjson.dumps({"schema_version": _SCHEMA_VERSION, **kept}, option=orjson.OPT_INDENT_2)
    write_whole(settings.state_dir / FILE, raw)
    return kept


def is_editable(settings: Settings, row: Setting) -> bool:
    """Whether a value in `settings.json` would count at the next start."""
    return row.stored and settings.sources[row.name] in (STORED, DEFAULT)


def _parsed_request(row: Setting, value: Any) -> None:
    try:
        row.parse(value)
    except ValueError as exc:
        reason = str(exc) if str(exc).startswith("must") else "cannot be read"
        raise InvalidRequest(f"{row.name} {reason}.") from exc
