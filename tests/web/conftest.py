"""A live server a test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.live_server import Client, LiveServer, live_server


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveServer]:
    with live_server(tmp_path / "state") as server:
        yield server


@pytest.fixture
def client(live: LiveServer) -> Client:
    return live.client
