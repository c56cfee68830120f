"""Settings: flags win over the environment, that over settings.json; a bad value names its place."""

import json
import sys
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from api.errors import UsageError
from api.setting_rows import SETTINGS
from api.settings import Settings, load


def loaded(state: Path, environ: dict[str, str] | None = None, **flags: Any) -> Settings:
    return load({"state_dir": str(state), **flags}, {"DISPLAY": ":0"} | (environ or {}))


def test_no_browser_is_opened_where_nothing_can_show_it(tmp_path: Path) -> None:
    has_none = load({"state_dir": str(tmp_path)}, {}).no_browser
    assert has_none is (sys.platform == "linux")
    assert not load({"state_dir": str(tmp_path)}, {"WAYLAND_DISPLAY": "wayland-0"}).no_browser


def store(state: Path, **values: Any) -> None:
    (state / "settings.json").write_text(json.dumps(values))


def test_defaults(tmp_path: Path) -> None:
    settings = loaded(tmp_path)
    assert (settings.host, settings.port, settings.agent) == ("127.0.0.1", 8787, None)
    assert settings.token is None and settings.allow_hosts == () and not settings.no_browser


def test_state_folder_defaults_to_the_users_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert load({}, {}).state_dir == Path(platformdirs.user_data_dir("talaria", appauthor=False))


def test_flag_wins_over_environment_wins_over_file(tmp_path: Path) -> None:
    store(tmp_path, port=1001)
    assert loaded(tmp_path).port == 1001
    assert loaded(tmp_path, {"TALARIA_PORT": "1002"}).port == 1002
    assert loaded(tmp_path, {"TALARIA_PORT": "1002"}, port="1003").port == 1003


@pytest.mark.parametrize("zero", [0, "0"])
def test_port_zero_is_a_port(tmp_path: Path, zero: Any) -> None:
    store(tmp_path, port=1001)
    assert loaded(tmp_path, port=zero).port == 0


def test_switch_of_the_environment_can_say_no(tmp_path: Path) -> None:
    assert not loaded(tmp_path, {"TALARIA_NO_BROWSER": "0"}, no_browser=False).no_browser
    assert loaded(tmp_path, {"TALARIA_NO_BROWSER": "1"}, no_browser=False).no_browser


def test_names_come_lowered_and_without_blanks(tmp_path: Path) -> None:
    assert loaded(tmp_path, {"TALARIA_ALLOW_HOSTS": "A.local, b ,"}).allow_hosts == ("a.local", "b")
    assert loaded(tmp_path, allow_hosts=("C",)).allow_hosts == ("c",)


def test_an_address_loses_its_last_slash(tmp_path: Path) -> None:
    assert (
        loaded(tmp_path, openai_base_url="http://127.0.0.1:1/v1/").openai_base_url == "http://127.0.0.1:1/v1"
    )


@pytest.mark.parametrize(
    ("flags", "place"),
    [
        ({"port": "many"}, "--port"),
        ({"port": "65536"}, "--port"),
        ({"host": "0.0.0.0"}, "--behind-tls"),
        ({"host": "0.0.0.0", "insecure_lan": True}, "run.py password"),
        ({"host": "0.0.0.0", "behind_tls": True}, "run.py password"),
        ({"host": "box.local"}, "--host"),
        ({"base_path": "/a/../b"}, "--base-path"),
        ({"base_path": "http://x/"}, "--base-path"),
        ({"base_path": "/api/"}, "--base-path must not begin with /api/"),
        ({"base_path": "static/chat"}, "--base-path must not begin with /static/"),
        ({"agent": "hermit"}, "--agent"),
        ({"openai_base_url": "ftp://x"}, "--openai-base-url"),
        ({"state_dir": "~nobody-has-this-name/x"}, "--state-dir"),
    ],
)
def test_a_value_that_cannot_be_is_refused(tmp_path: Path, flags: dict[str, Any], place: str) -> None:
    with pytest.raises(UsageError, match=place):
        loaded(tmp_path, **flags) if "state_dir" not in flags else load(flags, {})


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"state_dir": "/x"}', '{"openai_api_key": "k"}', '{"port": true}']
)
def test_a_settings_file_that_is_wrong_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(UsageError, match=r"settings\.json"):
        loaded(tmp_path)


def test_no_secret_in_the_repr(tmp_path: Path) -> None:
    settings = loaded(tmp_path, {"TALARIA_OPENAI_API_KEY": "sesame-1"}, token="sesame-2")
    assert "sesame" not in repr(settings)


def test_every_row_is_a_field() -> None:
    assert {row.name for row in SETTINGS} == set(Settings.__dataclass_fields__) - {"sources", "stored"}


@pytest.mark.parametrize(
    ("given", "path"),
    [("/", "/"), ("", "/"), ("chat", "/chat/"), ("a/api", "/a/api/"), ("/a//b", "/a/b/"), ("/a/b/", "/a/b/")],
)
def test_a_base_path_has_slashes_at_both_ends(tmp_path: Path, given: str, path: str) -> None:
    assert loaded(tmp_path, base_path=given).base_path == path


@pytest.mark.parametrize("transport", ["behind_tls", "insecure_lan"])
def test_other_machines_are_served_with_a_password_and_a_word_on_tls(tmp_path: Path, transport: str) -> None:
    environ = {"TALARIA_PASSWORD": "correct horse"}
    assert loaded(tmp_path, environ, host="0.0.0.0", **{transport: True}).host == "0.0.0.0"
    (tmp_path / "password").write_text("hash")
    assert loaded(tmp_path, host="::", **{transport: True}).host == "::"
