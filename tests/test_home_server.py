"""What docs/home-server.md says about flags, files and backups is so."""

import re
import shutil
from pathlib import Path

from api.cli import CHECKOUT
from api.setting_rows import SETTINGS
from tests.fake_openai import FakeOpenAI
from tests.server_process import ServerProcess

GUIDE = (CHECKOUT / "docs" / "home-server.md").read_text(encoding="utf-8")


def test_every_flag_of_a_start_exists() -> None:
    named = {
        flag
        for line in GUIDE.splitlines()
        if "run.py" in line or line.startswith("`--")
        for flag in re.findall(r"--[a-z-]+[a-z]", line)
    }
    assert named and named <= {row.flag for row in SETTINGS}


def test_a_copy_made_while_it_runs_is_a_backup(tmp_path: Path) -> None:
    left_out = re.findall(r"--exclude '?/([a-z.*]+)", GUIDE)
    assert left_out == ["venv*", "catalog.db*", "locks"]
    with FakeOpenAI() as fake, ServerProcess(
        tmp_path / "state", "--openai-base-url", fake.base_url, "--openai-model", "m"
    ) as server:  # fmt: skip
        client = server.wait_listening()
        session_id = client.new_session(title="kept")
        client.events(client.send(session_id, "hello").json["stream_id"])
        shutil.copytree(tmp_path / "state", tmp_path / "copy", ignore=shutil.ignore_patterns(*left_out))
        server.stop()
    with ServerProcess(tmp_path / "copy") as server:
        restored = server.wait_listening()
        assert restored.token == client.token
        assert restored.contents(session_id) == ["hello", "You said: hello"]
        assert [row["title"] for row in restored.get("/api/sessions").json["sessions"]] == ["kept"]
