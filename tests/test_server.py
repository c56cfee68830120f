"""The process as a whole: started, stopped, killed, started again, and what it says."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.conftest import wait_until
from tests.fake_openai import FakeOpenAI, Reply, Wait, chunk, text_reply
from tests.server_process import CHECKOUT, SERVE, ServerProcess
from tests.web.live_server import Client


def serve(state_dir: Path, fake: FakeOpenAI, *flags: str, **options: object) -> ServerProcess:
    words = ("--openai-base-url", fake.base_url, "--openai-model", "m", *flags)
    return ServerProcess(state_dir, *words, **options)  # type: ignore[arg-type]


def half_reply() -> Reply:
    """A reply that shows some words and then waits for a gate nobody opens."""
    return Reply([chunk({"content": "seen "}), chunk({"content": "words "}), Wait("never")])


def shown_text(client: Client, stream_id: str, wanted: str) -> str:
    text = ""
    with client.stream(f"/api/chat/stream?stream_id={stream_id}") as reader:
        while wanted not in text:
            text += reader.until("token")["text"]
    return text


def test_a_reply_killed_half_way_is_there_after_a_restart(tmp_path: Path, fake: FakeOpenAI) -> None:
    fake.enqueue(text_reply(["a1"]), half_reply())
    with serve(tmp_path, fake) as server:
        client = server.wait_listening()
        session_id = client.new_session()
        client.events(client.send(session_id, "u1").json["stream_id"])
        shown = shown_text(client, client.send(session_id, "u2").json["stream_id"], "words")
        before = client.session(session_id)["messages"]
        server.kill()
    fake.enqueue(text_reply(["a3"]))
    with serve(tmp_path, fake) as server:
        client = server.wait_listening()
        session = client.session(session_id)
        assert session["running"] is False
        assert client.get("/api/sessions").json["sessions"][0]["running"] is False
        assert [m["content"] for m in session["messages"]] == ["u1", "a1", "u2", shown]
        assert session["messages"][2]["timestamp"] == before[2]["timestamp"]
        assert session["messages"][3]["status"] == "interrupted"
        assert session["messages"][3]["error"]["type"] == "interrupted"
        assert list((tmp_path / "journal").iterdir()) == []
        client.events(client.send(session_id, "u3", if_busy="reject").json["stream_id"])
        assert client.contents(session_id)[4:] == ["u3", "a3"]
        assert [m["content"] for m in fake.requests[-1]["messages"]] == ["u1", "a1", "u2", shown, "u3"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(tmp_path: Path, fake: FakeOpenAI, number: int) -> None:
    fake.enqueue(half_reply())
    with serve(tmp_path, fake) as server:
        client = server.wait_listening()
        session_id = client.new_session()
        stream_id = client.send(session_id, "u1").json["stream_id"]
        with client.stream(f"/api/chat/stream?stream_id={stream_id}") as reader:
            reader.until("token")
            assert (tmp_path / "server.json").exists()
            server.process.send_signal(number)
            assert reader.until("apperror")["type"] == "interrupted"
        assert server.wait() == 0
        assert not (tmp_path / "server.json").exists()
    data = orjson.loads((tmp_path / "sessions" / f"{session_id}.json").read_bytes())
    assert data["active_turn"] is None
    assert data["turns"][0]["state"] == "interrupted"


def test_it_ends_with_its_parent(tmp_path: Path, fake: FakeOpenAI) -> None:
    with serve(tmp_path, fake, "--exit-with-parent") as server:
        server.wait_listening()
        assert server.process.stdin
        server.process.stdin.close()
        assert server.wait() == 0


def test_a_second_start_names_the_running_address(tmp_path: Path, fake: FakeOpenAI) -> None:
    with serve(tmp_path, fake) as first:
        client = first.wait_listening()
        with serve(tmp_path, fake) as second:
            assert second.wait() == 3
            assert f"http://127.0.0.1:{client.port}/#token={client.token}" in "\n".join(second.lines)
        assert client.get("/health").status == 200


def test_a_second_start_prints_no_token_that_the_running_server_does_not_take(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    (tmp_path / "token").write_text("of-an-earlier-start")
    with serve(tmp_path, fake, "--token", "given") as first:
        client = first.wait_listening()
        with serve(tmp_path, fake) as second:
            assert second.wait() == 3
            said = "\n".join(second.lines)
            assert f"http://127.0.0.1:{client.port}/" in said and "token" not in said


def test_a_taken_port_ends_with_4_and_the_command_for_the_next(tmp_path: Path, fake: FakeOpenAI) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with serve(tmp_path, fake, "--port", str(port)) as server:
            assert server.wait() == 4
            assert f"--port {port + 1}" in "\n".join(server.lines)
            assert str(os.getpid()) in "\n".join(server.lines)


def test_files_are_private_and_the_token_stays_the_same(tmp_path: Path, fake: FakeOpenAI) -> None:
    state_dir = tmp_path / "state"
    tokens = set()
    for _ in range(2):
        with serve(state_dir, fake) as server:
            client = server.wait_listening()
            tokens.add(client.token)
            client.new_session(title="x")
            assert server.stop() == 0
    assert len(tokens) == 1
    assert state_dir.stat().st_mode & 0o777 == 0o700
    for path in [state_dir / "token", state_dir / "catalog.db", *(state_dir / "sessions").iterdir()]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_no_secret_reaches_what_it_prints_or_answers(tmp_path: Path, fake: FakeOpenAI) -> None:
    environ = dict(os.environ) | {"TALARIA_OPENAI_API_KEY": "sk-very-secret-key"}
    fake.enqueue(Reply([b'{"error": {"message": "bad key sk-very-secret-key"}}'], 401, "application/json"))
    with serve(tmp_path, fake, environ=environ) as server:
        client = server.wait_listening()
        session_id = client.new_session()
        events = client.events(client.send(session_id, "q").json["stream_id"])
        assert events[-1][2]["type"] == "auth_mismatch"
        answers = [events, client.session(session_id), client.get("/api/models").json]
        assert "sk-very" not in str(answers)
        assert fake.headers[-1]["authorization"] == "Bearer sk-very-secret-key"
        server.stop()
        assert "sk-very" not in "\n".join(server.lines)


def test_a_damaged_file_hides_nothing_and_is_left_as_it_is(tmp_path: Path, fake: FakeOpenAI) -> None:
    with serve(tmp_path, fake) as server:
        client = server.wait_listening()
        ids = [client.new_session(title=title) for title in "ABC"]
        server.kill()
    path = tmp_path / "sessions" / f"{ids[1]}.json"
    whole = path.read_bytes()
    for damage in (b"", whole[: len(whole) * 6 // 10], b"\0" * 200):
        path.write_bytes(damage)
        with serve(tmp_path, fake) as server:
            client = server.wait_listening()
            rows = {row["session_id"]: row["damaged"] for row in client.get("/api/sessions").json["sessions"]}
            assert rows == {ids[0]: False, ids[1]: True, ids[2]: False}
            opened = client.get(f"/api/session?session_id={ids[1]}")
            assert (opened.status, opened.json["code"]) == (409, "damaged")
            assert client.send(ids[1], "q").json["code"] == "damaged"
            server.stop()
            assert any(ids[1] in line for line in server.lines)
        assert path.read_bytes() == damage


def test_cheap_calls_never_shorten_a_long_session(tmp_path: Path, fake: FakeOpenAI) -> None:
    with serve(tmp_path, fake) as server:
        session_id = server.wait_listening().new_session()
        server.kill()
    path = tmp_path / "sessions" / f"{session_id}.json"
    data = orjson.loads(path.read_bytes())
    data["messages"] = [
        {"id": n, "parent": n - 1 or None, "role": ("assistant", "user")[n % 2], "content": f"m{n}"}
        for n in range(1, 1001)
    ]
    path.write_bytes(orjson.dumps(data | {"head": 1000}))
    with serve(tmp_path, fake) as server:
        client = server.wait_listening()
        client.get("/api/sessions")
        client.get(f"/api/session/status?session_id={session_id}")
        client.post("/api/session/rename", {"session_id": session_id, "title": "new"})
        client.post("/api/session/seen", {"session_id": session_id, "message_id": 1000})
        client.post("/api/session/pin", {"session_id": session_id, "pinned": True})
        client.send(session_id, "/status")
        server.kill()
    with serve(tmp_path, fake) as server:
        client = server.wait_listening()
        assert len(client.session(session_id)["messages"]) == 1000
        assert client.session(session_id)["title"] == "new"


def test_the_text_is_durable_before_the_answer(tmp_path: Path, fake: FakeOpenAI) -> None:
    """write, fsync, rename and fsync of the folder stand before the 202, as the system saw them."""
    trace = tmp_path / "trace"
    calls = "trace=openat,fsync,rename,renameat,renameat2,sendto,send,sendmsg"
    prefix = ("strace", "-f", "-e", calls, "-s", "400", "-o", str(trace))
    with serve(tmp_path / "state", fake, prefix=prefix) as server:
        client = server.wait_listening()
        session_id = client.new_session()
        assert client.send(session_id, "durable words").status == 202
        # The traced process, not its tracer, must end.
        note = orjson.loads((tmp_path / "state" / "server.json").read_bytes())
        os.kill(note["pid"], signal.SIGTERM)
        assert server.wait() == 0
    lines = trace.read_text(errors="replace").splitlines()
    answered = next(n for n, line in enumerate(lines) if "HTTP/1.1 202" in line)
    renamed = max(n for n in range(answered) if "rename" in lines[n] and f"{session_id}.json" in lines[n])
    fsyncs = [n for n in range(answered) if re.search(r"fsync\(\d+\) *= 0|fsync resumed", lines[n])]
    assert [n for n in fsyncs if n < renamed], "no fsync before the rename"
    opened = next(n for n in range(renamed, answered) if 'state/sessions", O_RDONLY' in lines[n])
    assert [n for n in fsyncs if opened < n < answered], "no fsync of the folder before the answer"


def test_a_folder_that_cannot_be_written_is_said_in_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o755)
    drop = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--inh-caps=-all", "--")
    words = [*drop, sys.executable, "-c", SERVE, "--state-dir", str(folder / "state"), "--port", "0"]
    folder.chmod(0o500)
    done = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_said_and_loses_nothing(small_disk: Path, fake: FakeOpenAI) -> None:
    with serve(small_disk, fake) as server:
        client = server.wait_listening()
        session_id = client.new_session()
        client.events(client.send(session_id, "u1").json["stream_id"])
        before = client.contents(session_id)
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
        refused = client.send(session_id, "u2 " + "y" * 20_000)
        assert (refused.status, refused.json["code"]) == (503, "unavailable")
        assert "disk is full" in refused.json["error"]
        assert client.contents(session_id) == before
        filler.unlink()
        accepted = client.send(session_id, "u3")
        assert accepted.status == 202
        client.events(accepted.json["stream_id"])
        assert client.contents(session_id)[:3] == [*before, "u3"]
        server.stop()
        assert not any("Traceback" in line for line in server.lines)


def test_the_port_is_open_before_the_heavy_libraries_are_loaded(tmp_path: Path) -> None:
    code = "import sys; import api.server; assert not {'openai', 'pygments'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT).returncode == 0


def test_it_answers_after_a_restart_with_lost_catalog(tmp_path: Path, fake: FakeOpenAI) -> None:
    with serve(tmp_path, fake) as server:
        server.wait_listening().new_session(title="kept")
        server.stop()
    for path in tmp_path.glob("catalog.db*"):
        path.unlink()
    shutil.rmtree(tmp_path / "locks")
    with serve(tmp_path, fake) as server:
        rows = server.wait_listening().get("/api/sessions").json["sessions"]
        assert [row["title"] for row in rows] == ["kept"]
    wait_until(lambda: server.process.poll() is not None)


def test_a_start_with_an_agent_that_has_no_endpoint_says_where_to_add_one(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, "--agent", "openai") as server:
        server.wait_line("default agent openai")
        server.wait_line("no endpoint is set up: Add one under Models in the page")
        server.wait_listening()


def test_a_provider_that_never_answers_does_not_hold_the_end_up(tmp_path: Path, fake: FakeOpenAI) -> None:
    fake.memory_gate = "memory"
    with serve(tmp_path, fake) as server:
        client = server.wait_listening()
        sessions = [client.new_session() for _ in range(3)]
        for session_id in sessions:
            client.events(client.send(session_id, "I prefer green tea to coffee.").json["stream_id"])
        client.post("/api/memory/commit", {"session_id": sessions[0]})
        assert fake.reached("memory").wait(20)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=15) == 0
    fake.memory_gate = None
    with serve(tmp_path, fake) as server:
        client = server.wait_listening()
        asked = len(fake.memory_requests)

        def waiting() -> set[str]:
            rows = client.get("/api/memory/status").json["uncommitted"]
            return {row["session_id"] for row in rows}

        # What was sealed is repeated without a boundary; the rest waits for its silence.
        wait_until(lambda: sessions[0] not in waiting(), "the repeated commit")
        assert len(fake.memory_requests) > asked


def test_turns_that_a_kill_left_untold_are_told_once(tmp_path: Path, fake: FakeOpenAI) -> None:
    with serve(tmp_path, fake) as server:
        client = server.wait_listening()
        session_id = client.new_session()
        for text in ("I prefer green tea.", "I live in a small town."):
            client.events(client.send(session_id, text).json["stream_id"])
        server.kill()
    assert fake.memory_requests == []
    with serve(tmp_path, fake) as server:
        client = server.wait_listening()
        assert client.post("/api/memory/commit", {"session_id": session_id}).json["turns"] == 2
        wait_until(lambda: not client.get("/api/memory/status").json["uncommitted"], "the commit")
        server.kill()
    with serve(tmp_path, fake) as server:
        client = server.wait_listening()
        assert client.post("/api/memory/commit", {"session_id": session_id}).json["turns"] == 0
        assert server.stop() == 0
    (request,) = fake.memory_requests
    asked = request["messages"][0]["content"]
    assert "green tea" in asked and "small town" in asked
