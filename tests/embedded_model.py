"""Fixtures of the real demonstration model, which is downloaded once a test run."""

import os
from collections.abc import Iterator

import pytest

from api.agents.embedded_install import EmbeddedInstall
from api.agents.sidecar_process import Sidecar
from api.concurrency import Workers

JOIN_S = 10.0


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedInstall:
    install = EmbeddedInstall(tmp_path_factory.getbasetemp() / "demonstration-model", os.environ)
    install.ensure()
    return install


@pytest.fixture
def workers() -> Iterator[Workers]:
    """Threads for one test, which must all have ended after it."""
    workers = Workers()
    yield workers
    assert workers.stop(JOIN_S) == []


@pytest.fixture
def sidecar(installed: EmbeddedInstall, workers: Workers) -> Iterator[Sidecar]:
    sidecar = Sidecar(installed.engine_path, installed.model_path, os.environ, workers.spawn)
    yield sidecar
    sidecar.close()
