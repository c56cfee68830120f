"""The process that listens: waitress on a bound port, its facts on standard output, its orderly end."""

import logging
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Mapping
from types import FrameType

import orjson
import psutil
from waitress.server import create_server

from api import __version__, files
from api.agents.base import Agent
from api.agents.embedded import EmbeddedAgent
from api.agents.embedded_install import EmbeddedInstall, default_folder
from api.agents.endpoint import Endpoint, EndpointTable
from api.agents.openai_chat import OpenAIAgent
from api.agents.sidecar_process import Sidecar
from api.app import create_app
from api.clock import Clock
from api.concurrency import FileClaim, Workers
from api.errors import TalariaError
from api.services import Services, build
from api.settings import Settings
from api.web.gate import Gate

log = logging.getLogger(__name__)

THREADS = 96
CONNECTIONS = 512
BODY_LIMIT = 32 * 1024 * 1024
GRACE_S = 2.0
EXIT_OK, EXIT_FAILED, EXIT_STATE_IN_USE, EXIT_PORT_IN_USE = 0, 1, 3, 4
