"""The table of all settings: what each is called by a flag, the environment and `settings.json`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from api.setting_values import (
    as_agent,
    as_base_path,
    as_host,
    as_memory,
    as_names,
    as_path,
    as_port,
    as_seconds,
    as_service,
    as_switch,
    as_text,
    as_url,
    as_word,
)


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


SETTINGS = (
    Setting(
        "host",
        "--host",
        "TALARIA_HOST",
        "127.0.0.1",
        as_host,
        "Address to listen on; one that other machines reach needs a password and one of the next two.",
    ),
    Setting(
        "behind_tls",
        "--behind-tls",
        None,
        False,
        as_switch,
        "A reverse proxy with TLS stands in front; its `X-Forwarded-Host` counts.",
        is_switch=True,
    ),
    Setting(
        "insecure_lan",
        "--insecure-lan",
        None,
        False,
        as_switch,
        "Do without TLS: whoever shares the network can read the password and all chats.",
        is_switch=True,
    ),
    Setting("port", "--port", "TALARIA_PORT", 8787, as_port, "Port to listen on; 0 takes any free port."),
    Setting(
        "state_dir",
        "--state-dir",
        "TALARIA_STATE_DIR",
        None,
        as_path,
        "Folder that holds the conversations; default: `talaria` in the platform's user data folder.",
        stored=False,
    ),
    Setting("token_file", "--token-file", None, None, as_path, "File with the access token.", stored=False),
    Setting(
        "token",
        "--token",
        "TALARIA_TOKEN",
        None,
        as_text,
        "Access token itself (a flag is visible to other users); default: random, kept in `token`.",
        stored=False,
    ),
    Setting(
        "password_file",
        "--password-file",
        None,
        None,
        as_path,
        "File whose first line is the password for logging in.",
        stored=False,
    ),
    Setting(
        "password",
        None,
        "TALARIA_PASSWORD",
        None,
        as_text,
        "Password itself; default: the one set by `python3 run.py password`, if any.",
        stored=False,
    ),
    Setting(
        "no_browser",
        "--no-browser",
        "TALARIA_NO_BROWSER",
        False,
        as_switch,
        "Open no browser.",
        is_switch=True,
    ),
    Setting(
        "allow_hosts",
        "--allow-host",
        "TALARIA_ALLOW_HOSTS",
        (),
        as_names,
        "Further host name to answer to.",
        repeatable=True,
    ),
    Setting(
        "base_path",
        "--base-path",
        "TALARIA_BASE_PATH",
        "/",
        as_base_path,
        "Path under which a reverse proxy shows Talaria, such as `/talaria/`.",
    ),
    Setting(
        "exit_with_parent",
        "--exit-with-parent",
        "TALARIA_EXIT_WITH_PARENT",
        False,
        as_switch,
        "End when standard input closes.",
        stored=False,
        is_switch=True,
    ),
    Setting(
        "agent",
        "--agent",
        "TALARIA_AGENT",
        None,
        as_agent,
        "Default agent; default: `openai` where an endpoint is configured, else `embedded`.",
    ),
    Setting(
        "memory",
        "--memory",
        "TALARIA_MEMORY",
        "local",
        as_memory,
        "What remembers across chats: `local`, `openviking` or `none`.",
    ),
    Setting(
        "memory_idle_s",
        None,
        "TALARIA_MEMORY_IDLE_S",
        1800,
        as_seconds,
        "Seconds of silence after which memory learns from a chat.",
    ),
    Setting(
        "openviking_endpoint",
        None,
        "OPENVIKING_ENDPOINT",
        None,
        as_service,
        "Address of the OpenViking server, such as `http://127.0.0.1:1933`.",
        stored=False,
    ),
    Setting(
        "openviking_api_key",
        None,
        "OPENVIKING_API_KEY",
        None,
        as_word,
        "Key of that server; never shown, never logged.",
        stored=False,
    ),
    Setting(
        "openviking_account",
        None,
        "OPENVIKING_ACCOUNT",
        None,
        as_word,
        "Account at that server; without a key `default`.",
        stored=False,
    ),
    Setting(
        "openviking_user",
        None,
        "OPENVIKING_USER",
        None,
        as_word,
        "User of that account; without a key `default`.",
        stored=False,
    ),
    Setting(
        "openviking_agent",
        None,
        "OPENVIKING_AGENT",
        "talaria",
        as_word,
        "Name under which that server files what Talaria tells it.",
        stored=False,
    ),
    Setting(
        "openai_base_url",
        "--openai-base-url",
        "TALARIA_OPENAI_BASE_URL",
        None,
        as_url,
        "OpenAI-compatible endpoint, such as `http://127.0.0.1:11434/v1`.",
    ),
    Setting(
        "openai_model", "--openai-model", "TALARIA_OPENAI_MODEL", None, as_text, "Model at that endpoint."
    ),
    Setting(
        "openai_api_key",
        None,
        "TALARIA_OPENAI_API_KEY",
        None,
        as_text,
        "Key of that endpoint; never shown, never logged.",
        stored=False,
    ),
)
