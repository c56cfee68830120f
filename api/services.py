"""The one place where the objects of a process are made and joined."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

from api import session_lifecycle
from api.agents.base import Agent
from api.agents.embedded import EmbeddedAgent
from api.agents.embedded_install import EmbeddedInstall, default_folder
from api.agents.endpoint import GIVEN, Endpoint
from api.agents.endpoint_store import EndpointStore
from api.agents.local_servers import LocalServers
from api.agents.model_list import ModelList
from api.agents.openai_chat import OpenAIAgent
from api.agents.pool import AgentPool
from api.agents.sidecar_process import Sidecar
from api.auth.access import Auth, access_token
from api.auth.logins import Logins
from api.auth.password import find_password
from api.clock import Clock
from api.commands.dispatcher import Dispatcher
from api.commands.registry import build_registry
from api.composer import Composer
from api.concurrency import KeyedLocks, Workers
from api.events import Event
from api.file_ledger import Tell
from api.files import Checkpoint, make_folder, no_checkpoint, sweep_temporaries
from api.hub import Hub
from api.memory.base import MemoryProvider
from api.memory.local import LocalMemory
from api.memory.none import NoMemory
from api.memory.openviking import Account, OpenVikingMemory
from api.render.renderings import Renderings
from api.session_making import SessionMaker
from api.session_memory import SessionMemory
from api.session_ops import SessionOps, install, uninstall
from api.sessions.blobs import Blobs
from api.sessions.catalog import Catalog
from api.sessions.drafts import Drafts
from api.sessions.erasing import Eraser
from api.sessions.model import Session
from api.sessions.report import UsageReport
from api.sessions.search import Search
from api.sessions.store import SessionStore, Stamp
from api.settings import Settings, environment
from api.turns.journal import Journal
from api.turns.rendered import RenderedTurns
from api.turns.runner import TurnRunner
from api.turns.turn import Turn

STEP_S = 1 / 30
TRASH_S = 30 * 86_400.0
EMPTY_S = 86_400.0
BLOB_S = 7 * 86_400.0
HOUSEKEEPING_S = 3600.0
MEMORY_STEP_S = 1.0


@dataclass(frozen=True)
class Services:
    """Everything that a running server consists of."""

    settings: Settings
    clock: Clock
    workers: Workers
    store: SessionStore
    catalog: Catalog
    search: Search
    drafts: Drafts
    blobs: Blobs
    report: UsageReport
    hub: Hub[Turn]
    agents: AgentPool
    endpoints: EndpointStore
    local_servers: LocalServers
    memory: SessionMemory
    runner: TurnRunner
    maker: SessionMaker
    ops: SessionOps
    commands: Dispatcher
    composer: Composer
    auth: Auth
    rendered: RenderedTurns

    def open(self) -> None:
        """Put right what an ended process has left; before the port opens."""
        sweep_temporaries(self.settings.state_dir)
        self.catalog.reconcile()
        self.runner.recover(self.catalog.running())
        for session_id in self.catalog.unlisted(before=inf):
            # A temporary chat is gone with the process in which it was open.
            self.ops.close(session_id)

    def start(self) -> None:
        """Begin the steps of the process, and lend its operations to a shell that vendors this backend."""
        install(self.ops)
        session_lifecycle.install(self.memory.lifecycle)
        self.memory.recover()
        self.workers.spawn("turn steps", self._step_turns)
        self.workers.every("memory steps", MEMORY_STEP_S, self.memory.step)
        self.workers.every("housekeeping", HOUSEKEEPING_S, self.housekeep)

    def housekeep(self) -> None:
        """Purge what has lain in the trash for 30 days; empty sessions go there after a day."""
        now = self.clock.now()
        self.store.purge(older_than=now - TRASH_S, keeps=self.memory.has_to_forget)
        self.drafts.sweep()
        self.blobs.sweep(older_than=now - BLOB_S)
        for session_id in self.catalog.unlisted(before=now - EMPTY_S):
            if not self.ops.close(session_id):
                self.runner.delete(session_id)

    def settle(self, grace_s: float, drain_s: float) -> None:
        """Bring every turn to its stored end, running ones after `grace_s`, then commit what memory was not
        told, in what is left of `drain_s`, and end every stream.
        """
        end = self.clock.monotonic() + drain_s
        uninstall(self.ops)
        self.runner.close(grace_s)
        session_lifecycle.uninstall(self.memory.lifecycle)
        self.hub.close()
        self.memory.drain(max(0.0, end - self.clock.monotonic()))
        self.agents.close()

    def close(self, grace_s: float) -> list[str]:
        """End what is left, after `settle`; the names of threads that did not end in `grace_s`."""
        left = self.workers.stop(grace_s)
        self.catalog.close()
        return left

    def _step_turns(self) -> None:
        while not self.workers.stopping.is_set():
            if self.runner.wait_for_work(1.0):
                self.runner.step()
                self.workers.stopping.wait(STEP_S)


MakeAgents = Callable[[Settings, Workers, EndpointStore], Mapping[str, Agent]]


def shipped_agents(settings: Settings, workers: Workers, endpoints: EndpointStore) -> Mapping[str, Agent]:
    """The backends that ship; their heavy parts are loaded in the background, after the port is open."""
    environ = environment()
    install = EmbeddedInstall(default_folder(), environ)
    sidecar = Sidecar(install.engine_path, install.model_path, environ, workers.spawn)
    return {"openai": OpenAIAgent(endpoints), "embedded": EmbeddedAgent(install, sidecar, workers.spawn)}


def _given_endpoint(settings: Settings) -> Endpoint | None:
    """The endpoint that flags and the environment have named."""
    if not settings.openai_base_url:
        return None
    return Endpoint(GIVEN, GIVEN, settings.openai_base_url, settings.openai_model, settings.openai_api_key)


def _default_agent(settings: Settings, endpoints: EndpointStore) -> str:
    """The one that was asked for, else the one chosen in the page, else what there is."""
    if settings.agent:
        return settings.agent
    chosen = endpoints.default.agent or "openai"
    return "embedded" if chosen == "openai" and not endpoints.all() else chosen


def build(
    settings: Settings,
    clock: Clock,
    make_agents: MakeAgents = shipped_agents,
    checkpoint: Checkpoint = no_checkpoint,
) -> Services:
    """The objects of one process over a state folder; nothing runs yet."""
    workers, hub = Workers(), Hub[Turn](clock.new_id())
    store, drafts, blobs, catalog, eraser = _stored(make_folder(settings.state_dir), clock, checkpoint)
    endpoints, pool, local = _answering(settings, clock, workers, make_agents)
    memory = _memory(settings, store, catalog, pool, clock, workers, hub)
    runner = TurnRunner(store, hub, Journal(settings.state_dir), pool, clock, workers, blobs, memory)
    store.on_saved(_announcer(catalog, hub))
    maker = SessionMaker(store, pool, clock, eraser, memory)
    ops = SessionOps(store, runner, pool, clock, eraser, drafts, memory)
    commands = Dispatcher(build_registry(), store, maker, ops, runner, ModelList(pool, local), memory)
    return Services(
        settings=settings,
        clock=clock,
        workers=workers,
        store=store,
        catalog=catalog,
        search=Search(store, catalog),
        drafts=drafts,
        blobs=blobs,
        report=UsageReport(store, catalog, clock),
        hub=hub,
        agents=pool,
        endpoints=endpoints,
        local_servers=local,
        memory=memory,
        runner=runner,
        maker=maker,
        ops=ops,
        commands=commands,
        composer=Composer(commands, runner, blobs, drafts),
        auth=_auth(settings, clock),
        rendered=RenderedTurns(Renderings(), hub, clock),
    )


def _stored(
    state_dir: Path, clock: Clock, checkpoint: Checkpoint
) -> tuple[SessionStore, Drafts, Blobs, Catalog, Eraser]:
    """What the state folder holds of conversations."""
    locks = KeyedLocks(make_folder(state_dir / "locks"))
    store = SessionStore(state_dir, locks, clock, checkpoint=checkpoint)
    drafts = Drafts(state_dir, store, locks, clock)
    blobs, catalog = Blobs(state_dir), Catalog(state_dir / "catalog.db", store, drafts.has)
    return store, drafts, blobs, catalog, Eraser(store, catalog, blobs)


def _answering(
    settings: Settings, clock: Clock, workers: Workers, make_agents: MakeAgents
) -> tuple[EndpointStore, AgentPool, LocalServers]:
    """What answers: the endpoints that are set up, the backends, and servers that run on this machine."""
    endpoints = EndpointStore(settings.state_dir, _given_endpoint(settings), clock)
    agents = make_agents(settings, workers, endpoints)
    return endpoints, AgentPool(agents, _default_agent(settings, endpoints)), LocalServers(workers)


def _memory(
    settings: Settings,
    store: SessionStore,
    catalog: Catalog,
    pool: AgentPool,
    clock: Clock,
    workers: Workers,
    hub: Hub[Turn],
) -> SessionMemory:
    """What remembers across conversations."""
    provider, idle_s = _provider(settings, clock), settings.memory_idle_s
    return SessionMemory(store, catalog, pool, provider, clock, workers, teller(hub), idle_s)


def _provider(settings: Settings, clock: Clock) -> MemoryProvider:
    if settings.memory == "none":
        return NoMemory()
    if settings.memory == "openviking":
        return OpenVikingMemory(_openviking(settings), clock)
    return LocalMemory(settings.state_dir / "memory", clock)


def _openviking(settings: Settings) -> Account:
    return Account(
        settings.openviking_endpoint or "",
        settings.openviking_api_key,
        settings.openviking_account,
        settings.openviking_user,
        settings.openviking_agent,
    )


def teller(hub: Hub[Turn]) -> Tell:
    """Tells the readers of a session what memory has done there."""

    def tell(session_id: str, data: Mapping[str, object]) -> None:
        hub.publish(session_id, Event("memory", data))

    return tell


def _auth(settings: Settings, clock: Clock) -> Auth:
    find_password(settings)
    logins = Logins(settings.state_dir / "logins.json", clock)
    return Auth(access_token(settings), lambda: find_password(settings), logins, clock)


def _announcer(catalog: Catalog, hub: Hub[Turn]) -> Callable[[str, Session | None, Stamp | None], None]:
    """File first, then the list, then the event."""

    def announce(session_id: str, session: Session | None, stamp: Stamp | None) -> None:
        row = catalog.put(session_id, session, stamp)
        reason = "saved" if session else "deleted"
        data = {"session_id": session_id, "reason": reason, "row": row}
        hub.publish(session_id, Event("sessions_changed", data))

    return announce
