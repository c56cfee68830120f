"""Talaria as the backend of another program: from a read-only folder, on any port, ended with its parent."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli import CHECKOUT
from tests.fake_openai import FakeOpenAI
from tests.server_process import ServerProcess

# Root passes over the modes of files unless these capabilities are gone.
HELD_BY_MODES = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", "--")
SERVE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from api.cli import main; main()"


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A copy of what is installed, in a folder in which nothing can be written."""
    folder = tmp_path / "vendored"
    for name in ("api", "static", "templates"):
        shutil.copytree(CHECKOUT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    places = [folder, *folder.rglob("*")]
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    yield folder
    for place in places:
        place.chmod(0o755)


def test_it_serves_from_a_read_only_folder_and_ends_with_its_parent(
    read_only: Path, tmp_path: Path, fake: FakeOpenAI
) -> None:
    words = ("-c", SERVE, str(read_only))
    flags = ("--exit-with-parent", "--openai-base-url", fake.base_url, "--openai-model", "m")
    environ = {**os.environ, "PYTHONPATH": ""}
    state = tmp_path / "state"
    with ServerProcess(state, *flags, words=words, prefix=HELD_BY_MODES, environ=environ) as server:
        client = server.wait_listening()
        session_id = client.new_session()
        events = client.events(client.send(session_id, "hello").json["stream_id"])
        assert events[-1][1] == "done"
        assert server.process.stdin
        server.process.stdin.close()
        assert server.wait() == 0
    assert not (state / "server.json").exists()
    assert list(read_only.rglob("__pycache__")) == []
