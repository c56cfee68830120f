"""The password: kept as a hash, given at the start, or damaged; and the logins that hang on it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.auth.logins import MOST, Logins
from api.auth.password import Password, find_password, remove_password, set_password
from api.clock import Clock
from api.errors import Damaged, UsageError
from api.settings import Settings, load


def settings(folder: Path, environ: dict[str, str] | None = None, **flags: Any) -> Settings:
    return load({"state_dir": str(folder), **flags}, environ or {})


def test_a_password_is_kept_as_a_private_hash(tmp_path: Path) -> None:
    set_password(tmp_path / "state", "correct horse")
    path = tmp_path / "state" / "password"
    assert path.read_text().startswith("$argon2id$") and "horse" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    found = find_password(settings(tmp_path / "state"))
    assert found and found.matches("correct horse") and not found.matches("correct horse ")


def test_the_same_letters_match_however_a_keyboard_writes_them(tmp_path: Path) -> None:
    set_password(tmp_path, "se\u0301same ouvre")
    found = find_password(settings(tmp_path))
    assert found and found.matches("s\u00e9same ouvre")


def test_a_file_wins_over_the_environment_and_that_over_the_kept_one(tmp_path: Path) -> None:
    set_password(tmp_path, "kept-password")
    (tmp_path / "secret").write_text("file-password\nmore\n")
    environ = {"TALARIA_PASSWORD": "told-password"}
    for given, right in (
        (settings(tmp_path), "kept-password"),
        (settings(tmp_path, environ), "told-password"),
        (settings(tmp_path, environ, password_file=str(tmp_path / "secret")), "file-password"),
    ):
        found = find_password(given)
        assert found and found.matches(right) and not found.matches("more")
        assert right not in repr(found) and right not in repr(given)


def test_a_short_password_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="8 characters"):
        set_password(tmp_path, "short")
    assert find_password(settings(tmp_path)) is None


def test_a_damaged_hash_is_named_and_never_matches(tmp_path: Path) -> None:
    for damage in (b"", b"plain text", b"\xff\xfe", b"$argon2id$v=19$nothing"):
        (tmp_path / "password").write_bytes(damage)
        with pytest.raises(Damaged, match=r"run\.py password"):
            find_password(settings(tmp_path))


@pytest.mark.parametrize(
    "make", [lambda path: None, lambda path: path.write_text("\n")], ids=["none", "empty"]
)
def test_a_password_file_without_a_password_is_refused(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    make(tmp_path / "secret")
    with pytest.raises(UsageError, match="secret"):
        find_password(settings(tmp_path, password_file=str(tmp_path / "secret")))


def test_removing_says_whether_there_was_one(tmp_path: Path) -> None:
    set_password(tmp_path, "kept-password")
    assert (remove_password(tmp_path), remove_password(tmp_path)) == (True, False)


@pytest.fixture
def logins(tmp_path: Path) -> Logins:
    return Logins(tmp_path / "logins.json", Clock())


KEY = Password(b"key", False).key


def test_a_login_outlives_the_process_and_ends_at_its_logout(logins: Logins, tmp_path: Path) -> None:
    token, other = logins.new(KEY), logins.new(KEY)
    assert token not in (tmp_path / "logins.json").read_text()
    assert (tmp_path / "logins.json").stat().st_mode & 0o777 == 0o600
    again = Logins(tmp_path / "logins.json", Clock())
    assert again.accepts(token, KEY) and again.end(token, KEY)
    assert not again.accepts(token, KEY) and not again.end(token, KEY)
    assert again.accepts(other, KEY)


def test_another_password_ends_every_login(logins: Logins) -> None:
    token = logins.new(KEY)
    assert not logins.accepts(token, b"another") and not logins.accepts("", KEY)


def test_the_oldest_logins_make_room(logins: Logins) -> None:
    tokens = [logins.new(KEY) for _ in range(MOST + 1)]
    assert [logins.accepts(token, KEY) for token in (tokens[0], tokens[1], tokens[-1])] == [False, True, True]


@pytest.mark.parametrize("damage", [b"{", b"[]", b'{"logins": 7}', b'{"logins": [7, {"hash": 7}]}'])
def test_a_damaged_list_lets_nobody_in_and_nobody_out(logins: Logins, tmp_path: Path, damage: bytes) -> None:
    token = logins.new(KEY)
    (tmp_path / "logins.json").write_bytes(damage)
    assert not logins.accepts(token, KEY)
    assert logins.accepts(logins.new(KEY), KEY)
