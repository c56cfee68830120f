"""The zero-configuration agent: a small local model in a child process, reached like any other endpoint."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from api.agents.base import Agent, AgentInfo, ModelInfo, RunRequest, Stop
from api.agents.embedded_install import EmbeddedInstall
from api.agents.endpoint import Endpoint, EndpointTable
from api.agents.openai_chat import OpenAIAgent
from api.agents.sidecar import ALIAS, CONTEXT_TOKENS, REPLY_TOKENS, TEMPERATURE
from api.agents.sidecar_process import Sidecar, SidecarAddress
from api.concurrency import new_lock
from api.errors import AgentError
from api.events import Event

log = logging.getLogger(__name__)

MODEL = ModelInfo(
    id=ALIAS,
    endpoint="embedded",
    label="Demo model (SmolLM2-135M, runs on this machine). Often wrong.",
    context_limit=CONTEXT_TOKENS,
    vision=False,
)
SYSTEM_PROMPT = "You are a helpful assistant. Answer in one or two short sentences."
LONGEST_KNOWN = 800
BETTER_MODEL = "Try again in a moment, or connect a better model under Models in the page."


@dataclass(frozen=True, slots=True)
class EmbeddedState:
    """What the page shows: absent, installing, ready, starting, running or failed, and how far it is."""

    state: str
    sentence: str
    bytes_done: int = 0
    bytes_total: int = 0


class EmbeddedAgent:
    """Implements `Agent`. `spawn(name, work)` runs work in the background.

    `connect` makes the agent that speaks to a running model process. Nothing is downloaded before a
    first `run`, or `prepare` as the default agent.
    """

    name = "embedded"

    def __init__(
        self,
        install: EmbeddedInstall,
        sidecar: Sidecar,
        spawn: Callable[[str, Callable[[], object]], Any],
        connect: Callable[[SidecarAddress], Agent] | None = None,
    ) -> None:
        self._install = install
        self._sidecar = sidecar
        self._connect = connect or reach
        self._spawn = spawn
        self._preparing = new_lock()
        self._guard = new_lock()
        self._reached: tuple[SidecarAddress, Agent] | None = None
        self._trouble: str | None = None

    def prepare(self, is_default: bool) -> None:
        if is_default:
            self.set_up()

    def set_up(self) -> None:
        """Install and start the model; for a background thread. What goes wrong is told by `state`."""
        if not self._preparing.acquire(blocking=False):
            return
        try:
            self._install.ensure()
            self._address(Stop())
        except AgentError as exc:
            log.warning("embedded model: %s", exc)
        finally:
            self._preparing.release()

    def run(self, request: RunRequest, stop: Stop) -> Iterator[Event]:
        self._need_install()
        stop.on_request(self._sidecar.wake)
        address = self._address(stop)
        if address is None:
            return
        yield from self._agent_at(address).run(_own_request(request), stop)

    def info(self) -> AgentInfo:
        state = self.state()
        available = state.state in ("ready", "starting", "running")
        reason = None if available else state.sentence
        return AgentInfo(
            self.name,
            available,
            reason,
            (MODEL,),
            makes_titles=False,
            extracts_facts=False,
            endpoints=(MODEL.endpoint,),
        )

    def state(self) -> EmbeddedState:
        install = self._install.state()
        if install.state != "ready":
            return EmbeddedState(install.state, install.sentence(), install.bytes_done, install.bytes_total)
        process = self._sidecar.state
        if process == "off" and self._trouble:
            return EmbeddedState("failed", self._trouble)
        state = "ready" if process == "off" else process
        return EmbeddedState(state, f"The demonstration model is {state}.")

    def close(self) -> None:
        """End the installation and the model process; runs under way fail or stop."""
        self._install.close()
        self._sidecar.close()
        with self._guard:
            reached, self._reached = self._reached, None
        if reached is not None:
            reached[1].close()

    def _need_install(self) -> None:
        if self._install.is_ready:
            return
        state = self._install.state()
        if state.state != "installing" and self._install.is_possible:
            self._spawn("embedded-install", self.set_up)
        hint = "" if state.state == "failed" else BETTER_MODEL
        raise AgentError(f"{state.sentence()} {hint}".rstrip(), type="unavailable", hint=BETTER_MODEL)

    def _address(self, stop: Stop) -> SidecarAddress | None:
        try:
            address = self._sidecar.address(lambda: stop.requested)
        except AgentError as exc:
            self._trouble = str(exc)
            raise
        self._trouble = None
        return address

    def _agent_at(self, address: SidecarAddress) -> Agent:
        """The agent for this life of the process; that of an earlier life is closed."""
        with self._guard:
            reached = self._reached
            if reached is not None and reached[0] == address:
                return reached[1]
            agent = self._connect(address)
            self._reached = (address, agent)
        if reached is not None:
            reached[1].close()
        return agent


def reach(address: SidecarAddress) -> Agent:
    """The agent that speaks to the model process at `address`."""
    endpoint = Endpoint(
        id="embedded",
        name="Demo model",
        base_url=address.base_url,
        model=ALIAS,
        api_key=address.key,
        context_limit=CONTEXT_TOKENS,
        temperature=TEMPERATURE,
        max_tokens=REPLY_TOKENS,
        vision=False,
    )
    return OpenAIAgent(EndpointTable([endpoint]), name="embedded")


def _own_request(request: RunRequest) -> RunRequest:
    """The request as this model can use it: one short system prompt of its own, the one model there is."""
    talk = [message for message in request.messages if message.get("role") != "system"]
    known = f"\n\n{request.known}"[:LONGEST_KNOWN] if request.known else ""
    system = {"role": "system", "content": SYSTEM_PROMPT + known}
    return replace(request, messages=[system, *talk], model=MODEL.id, endpoint=None)
