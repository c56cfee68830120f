"""Files of a chat: uploaded once, sent with a message, kept as long as something names them."""

import base64
import hashlib
import os
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from api.errors import StorageFailed
from api.sessions.blobs import Blobs
from tests.web.live_server import Answer, Client, LiveServer

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(50))
OLD_S = 8 * 86_400


def upload(client: Client, session_id: str, filename: str | bytes, data: bytes) -> Answer:
    boundary = b"--------tests"
    name = (filename.encode() if isinstance(filename, str) else filename).replace(b'"', b"%22")
    body = b"".join(
        (
            b"--" + boundary + b'\r\nContent-Disposition: form-data; name="session_id"\r\n\r\n',
            session_id.encode() + b"\r\n--" + boundary,
            b'\r\nContent-Disposition: form-data; name="file"; filename="' + name + b'"\r\n',
            b"Content-Type: application/octet-stream\r\n\r\n" + data + b"\r\n--" + boundary + b"--\r\n",
        )
    )
    kind = f"multipart/form-data; boundary={boundary.decode()}"
    return client.call("POST", "/api/upload", body, Content_Type=kind)


def kept(client: Client, session_id: str, filename: str = "a.png", data: bytes = PNG) -> dict[str, Any]:
    answer = upload(client, session_id, filename, data)
    assert answer.status == 200, answer.raw
    return dict(answer.json)


def ask(live: LiveServer, session_id: str, message: str | None, **fields: Any) -> Any:
    body = {"session_id": session_id, **fields} | ({} if message is None else {"message": message})
    answer = live.client.post("/api/chat/start", body)
    assert answer.status == 202, answer.raw
    live.client.events(answer.json["stream_id"])
    return live.agent.history[-1].messages[-1]["content"]


def image_part(data: bytes = PNG) -> dict[str, Any]:
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    return {"type": "image_url", "image_url": {"url": url}}


def test_an_uploaded_file_says_what_it_is_and_can_be_read_back(client: Client) -> None:
    session_id = client.new_session()
    answer = kept(client, session_id, "../folder/Ein Bild \u202egnp.png")
    digest = hashlib.sha256(PNG).hexdigest()
    assert answer == {
        "id": f"blob:{digest}",
        "filename": "Ein Bild gnp.png",
        "size": len(PNG),
        "mime": "image/png",
        "is_image": True,
    }
    for name in (digest, quote(answer["id"])):
        got = client.get(f"/api/blob/{name}")
        assert (got.status, got.raw, got.headers["Content-Type"]) == (200, PNG, "image/png")
        assert got.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in got.headers["Content-Security-Policy"]
    assert client.get(f"/api/blob/{digest}", Authorization=None).status == 401


def test_a_form_that_cannot_be_read_says_what_is_wrong_with_it(client: Client) -> None:
    answer = upload(client, client.new_session(), "Übersicht.txt".encode("latin-1"), b"text")
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")
    assert answer.json["error"] == "The name of the file is not in UTF-8. Send it under another name."
    for kind in ("multipart/form-data", "multipart/form-data; boundary=other"):
        answer = client.call("POST", "/api/upload", b"--x--", Content_Type=kind)
        assert (answer.status, answer.json["code"]) == (400, "invalid_request")
        assert answer.json["error"].startswith("The form cannot be read.")


def test_a_text_comes_back_as_a_download_whatever_it_holds(client: Client) -> None:
    answer = kept(client, client.new_session(), "x.html", b"<script>alert(1)</script>")
    got = client.get("/api/blob/" + answer["id"].removeprefix("blob:"))
    assert got.headers["Content-Type"] == "application/octet-stream"
    assert got.headers["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize(
    ("filename", "data", "code"),
    [
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>" + b"\0", "unsupported_file"),
        ("a.pdf", b"%PDF-1.7\n\xe2\xe3", "unsupported_file"),
        ("empty.txt", b"", "unsupported_file"),
        ("latin.txt", "naïve".encode("latin-1"), "unsupported_file"),
        ("long.txt", b"a" * (256 * 1024 + 1), "unsupported_file"),
        ("a.png", b"MZ\x90\0", "unsupported_file"),
    ],
)
def test_what_no_model_can_read_is_refused_at_the_door(
    live: LiveServer, filename: str, data: bytes, code: str
) -> None:
    answer = upload(live.client, live.client.new_session(), filename, data)
    assert (answer.status, answer.json["code"]) == (400, code)
    assert filename in answer.json["error"]
    assert list((live.services.settings.state_dir / "blobs").iterdir()) == []


def test_an_upload_without_session_file_or_form_is_refused(client: Client) -> None:
    assert upload(client, "20260101_000000_abcdef", "a.png", PNG).status == 404
    assert upload(client, "../x", "a.png", PNG).status == 400
    assert upload(client, "1e5", "a.png", PNG).status == 404
    assert client.post("/api/upload", {"session_id": "x"}).status == 415
    kind = "multipart/form-data; boundary=x"
    for body in (
        b"",
        b"--x--",
        b"nothing",
        b'--x\r\nContent-Disposition: form-data; name="session_id"\r\n\r\na\r\n--x--',
    ):
        assert client.call("POST", "/api/upload", body, Content_Type=kind).status == 400
    foreign = client.call("POST", "/api/upload", b"--x--", Content_Type=kind, Origin="http://evil.example")
    assert foreign.status == 403


def test_a_file_of_more_than_25_mb_is_refused(client: Client) -> None:
    answer = upload(client, client.new_session(), "big.png", PNG + bytes(25 * 1024 * 1024))
    assert (answer.status, answer.json["code"]) == (413, "too_large")


@pytest.mark.parametrize("blob_id", ["x", "0" * 63, "0" * 64, "..%2f..%2ftoken", "blob:", "A" * 64])
def test_what_is_no_file_is_not_found(client: Client, blob_id: str) -> None:
    assert client.get(f"/api/blob/{blob_id}").status == 404


def test_images_and_texts_reach_the_model(live: LiveServer) -> None:
    session_id = live.client.new_session()
    image = kept(live.client, session_id)
    text = kept(live.client, session_id, "notes.md", b"\xef\xbb\xbf# Plan\n```py\n1\n```\n")
    sent = ask(live, session_id, "look", attachments=[image["id"], text])
    assert sent[0] == {"type": "text", "text": "look"}
    assert sent[1] == image_part()
    assert sent[2]["text"] == "notes.md\n````\n# Plan\n```py\n1\n```\n\n````"
    message = live.client.session(session_id)["messages"][0]
    assert [entry["filename"] for entry in message["attachments"]] == ["image.png", "notes.md"]


def test_retry_and_edit_keep_the_attachments_and_an_edit_may_change_them(live: LiveServer) -> None:
    session_id = live.client.new_session()
    image = kept(live.client, session_id)
    first = ask(live, session_id, "look", attachments=[image])
    assert ask(live, session_id, None, regenerate=True) == first
    assert ask(live, session_id, "look again", edit=1)[1] == image_part()
    message_id = live.client.session(session_id)["messages"][0]["id"]
    assert ask(live, session_id, "no image", edit=message_id, attachments=[]) == "no image"
    undone = live.client.post("/api/session/retry", {"session_id": session_id}).json
    assert undone["attachments"] == []


def test_a_file_alone_is_a_message_and_names_the_chat(live: LiveServer) -> None:
    session_id = live.client.new_session()
    image = kept(live.client, session_id, "sunset.png")
    assert ask(live, session_id, "", attachments=[image]) == [image_part()]
    assert live.client.session(session_id)["title"] == "sunset.png"
    assert live.client.send(session_id, "", attachments=[]).status == 400


@pytest.mark.parametrize(
    "attachments", [["x"], [{}], [{"id": 7}], [{"id": "0" * 64}], ["blob:x"] * 21, "x", [None]]
)
def test_attachments_that_are_none_are_refused(client: Client, attachments: Any) -> None:
    session_id = client.new_session()
    answer = client.send(session_id, "look", attachments=attachments)
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")
    assert client.contents(session_id) == []


def test_a_waiting_message_keeps_its_attachments_across_the_queue(live: LiveServer) -> None:
    session_id = live.client.new_session()
    image = kept(live.client, session_id)
    gate = threading.Event()
    live.agent.enqueue("a", gate)
    first = live.client.send(session_id, "one").json["stream_id"]
    second = live.client.send(session_id, "look", attachments=[image]).json["stream_id"]
    gate.set()
    live.client.events(first)
    live.client.events(second)
    assert live.agent.history[-1].messages[-1]["content"][1] == image_part()


def test_an_image_within_a_message_is_kept_as_a_file(live: LiveServer) -> None:
    session_id = live.client.new_session()
    sent = ask(live, session_id, [{"type": "text", "text": "look"}, image_part()])  # type: ignore[arg-type]
    assert sent[1] == image_part()
    stored = live.services.store.path(session_id).read_bytes()
    assert b"base64" not in stored and b"blob:" in stored
    odd = {"type": "image_url", "image_url": {"url": "data:image/png;base64,###"}}
    assert ask(live, session_id, [odd]) == [odd]  # type: ignore[arg-type]


def test_a_file_that_is_gone_is_mentioned(live: LiveServer) -> None:
    session_id = live.client.new_session()
    image = kept(live.client, session_id)
    ask(live, session_id, "look", attachments=[image])
    (live.services.settings.state_dir / "blobs" / image["id"].removeprefix("blob:")).unlink()
    sent = ask(live, session_id, None, regenerate=True)
    assert sent[1] == {"type": "text", "text": "[a.png: the file is gone]"}


def test_files_go_when_nothing_names_them_and_they_are_old(live: LiveServer) -> None:
    client, folder = live.client, live.services.settings.state_dir / "blobs"
    session_id, drafting = client.new_session(), client.new_session()
    images = [kept(client, session_id, f"{n}.png", PNG + bytes([n])) for n in range(5)]
    ask(live, session_id, "look", attachments=[images[0]])
    twin = client.post("/api/session/duplicate", {"session_id": session_id}).json["session_id"]
    client.post("/api/session/delete", {"session_id": session_id})
    client.post("/api/session/draft", {"session_id": drafting, "text": "", "attachments": [images[1]["id"]]})
    trashed = client.new_session()
    ask(live, trashed, "look", attachments=[images[2]])
    client.post("/api/session/delete", {"session_id": trashed})
    for path in folder.iterdir():
        os.utime(path, (1, live.services.clock.now() - OLD_S))
    kept(client, drafting, "again.png", PNG + bytes([3]))
    live.services.housekeep()
    left = {f"blob:{path.name}" for path in folder.iterdir()}
    assert left == {image["id"] for image in images[:4]}
    client.post("/api/trash/purge")
    client.post("/api/session/delete", {"session_id": twin})
    client.post("/api/trash/purge")
    live.services.housekeep()
    assert {f"blob:{path.name}" for path in folder.iterdir()} == {images[1]["id"], images[3]["id"]}


def test_an_erased_message_takes_its_file_along_unless_another_names_it(live: LiveServer) -> None:
    client, folder = live.client, live.services.settings.state_dir / "blobs"
    session_id = client.new_session()
    images = [kept(client, session_id, f"{n}.png", PNG + bytes([n])) for n in range(2)]
    ask(live, session_id, "both", attachments=images)
    ask(live, session_id, "one", attachments=images[:1])
    client.post("/api/session/erase", {"session_id": session_id, "message_id": 1})
    assert {f"blob:{path.name}" for path in folder.iterdir()} == {images[0]["id"]}


def test_an_erase_that_failed_half_way_takes_the_file_along_when_repeated(
    live: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, folder = live.client, live.services.settings.state_dir / "blobs"
    session_id = client.new_session()
    ask(live, session_id, "look", attachments=[kept(client, session_id)])
    client.post("/api/session/duplicate", {"session_id": session_id})
    erase = {"session_id": session_id, "message_id": 1}

    def full(*_arguments: object) -> None:
        raise StorageFailed("The disk is full.")

    with monkeypatch.context() as disk:
        disk.setattr(live.services.store, "trashed", full)
        assert client.post("/api/session/erase", erase).status == 503
    assert client.contents(session_id)[0] == "[erased]"
    assert client.post("/api/session/erase", erase).status == 200
    assert list(folder.iterdir()) == []
    (message, _) = client.session(session_id)["messages"]
    assert "files_to_remove" not in message and "attachments" not in message


def test_a_file_that_is_removed_while_it_comes_again_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs, utime = Blobs(tmp_path), os.utime
    kept = blobs.put(b"hello")

    def late(path: Path) -> None:
        monkeypatch.undo()
        blobs.drop([kept.id])
        utime(path)

    monkeypatch.setattr(os, "utime", late)
    blobs.put(b"hello")
    assert blobs.read(kept.id) == b"hello"
