"""The services of `symposia up`: their selection, the start of Flower, and the check that all are ready.

Like workers, Flower reads the broker's URL with the password from the environment, so its arguments contain
no secret. It listens on loopback only, and has no authentication unless `FLOWER_*` variables configure it.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from ...agents.local_model.server import missing_part
from ...agents.registry.registry import Registry
from ...client.building.runtime import agents_file_of, load_registry
from ...client.embedded import EmbeddedServer
from ...client.processes import free_port
from ...config.settings import Settings, child_environment
from ...models.errors import InvalidInput, RedisUnavailable
from ...models.extras import check_installed
from ...models.text.redact import without_password
from ...models.text.redis_address import source_of
from ...state.presence import WorkerPresence
from ...state.redis.connect import connect
from .code_check import CodeReloader, check_code
from .code_probe import CodeReport
from .fork_server import ForkServer, start_fork_server
from .local_runtime import OutputHandler, configured_server, using_server, with_server, worker_service
from .service_modules import modules_of
from .services import (
    LOOPBACK,
    LocalModelService,
    ProcessService,
    ServerService,
    beat_command,
    flower_command,
    http_command,
    stop_together,
)
from .supervisor import Interrupts, SupervisedService, Supervisor


def with_free_port(settings: Settings, service: str) -> Settings:
    """Return the settings with a port that is free: another project may use the default one.

    Args:
        settings: The settings.
        service: `flower` or `http`.

    Raises:
        InvalidInput: The configured port is in use, or reserved.
    """
    name = f"{service}_port"
    wanted = getattr(settings, name)
    port = free_port(LOOPBACK, preferred=wanted)
    if port != wanted and name in settings.model_fields_set:
        rule = (
            f"is already in use on {LOOPBACK}, perhaps by another `symposia up` (or reserved): "
            f"set another port, or disable {_SERVICES[service]} (--no-{service})"
        )
        raise InvalidInput(f"SYMPOSIA_{name.upper()}", wanted, rule)
    return settings if port == wanted else settings.model_copy(update={name: port})


#: Services with a port, by the beginning of its setting.
_SERVICES = {"flower": "Flower", "http": "the HTTP API"}


#: Seconds between two checks; also the timeout of a connection to Flower.
_LOOK_EVERY_S = 0.5


class Readiness:
    """Check that all services have started; it stops checking once they have.

    Args:
        workers: Announcements of live workers.
        names: Names of the started nodes, such as `worker1@host`.
        pages: Hosts and ports of Flower and the HTTP API, if they were started.
    """

    def __init__(
        self, workers: WorkerPresence, names: Sequence[str], *, pages: Sequence[tuple[str, int]] = ()
    ) -> None:
        self._workers = workers
        self._names = frozenset(names)
        self._pages = pages
        self._began = time.monotonic()
        self._next_look = 0.0
        self._is_ready = False

    def became_ready(self) -> bool:
        """Return True once: in the first call after all services have started."""
        if self._is_ready or time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + _LOOK_EVERY_S
        self._is_ready = self._workers_announced() and self._answers()
        return self._is_ready

    def _workers_announced(self) -> bool:
        # An older announcement is from a killed worker of the same name.
        youngest_ms = (time.monotonic() - self._began) * 1000
        with suppress(RedisUnavailable):
            alive = {worker.name for worker in self._workers.list_alive() if worker.age_ms <= youngest_ms}
            return self._names <= alive
        return False

    def _answers(self) -> bool:
        try:
            for page in self._pages:
                socket.create_connection(page, timeout=_LOOK_EVERY_S).close()
        except OSError:
            return False
        return True


#: Seconds between two checks of the services.
_CHECK_SERVICES_EVERY_S = 0.2
#: Seconds Flower or a beat may take to end.
_STOP_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class ServiceSelection:
    """Services to run."""

    workers: int = 1
    flower: bool = True
    #: True: serve the HTTP API on loopback, without credentials.
    http: bool = False
    #: True: run a beat, which announces due schedules to the workers.
    beat: bool = True
    #: True: start the workers again when the code of the agents changes.
    reload: bool = False
    #: Whether the local model runs; None: if it is installed.
    local_model: bool | None = None

    @property
    def worker_names(self) -> list[str]:
        """Return the names of the workers, without their host."""
        return [f"worker{number}" for number in range(1, self.workers + 1)]


def run_services(settings: Settings, selection: ServiceSelection, *, heard: OutputHandler) -> None:
    """Run the services until a signal stops this process; then stop them, workers first.

    Args:
        settings: Settings of all services.
        selection: Selection of the services.
        heard: Callback for the output of programs; lines of the supervisor have the name `up`.

    Raises:
        RegistryError: The agents file is wrong; nothing was started.
        InvalidInput: The port of Flower is in use; nothing was started.
        MissingPackage: A package of Flower or of the beat is not installed; nothing was started.
        StateError, LocalModelError: A service could not be started; all others were stopped.
    """

    def say(line: str) -> None:
        heard("up", line)

    registry = load_registry(settings)  # with a wrong agents file, each worker would end repeatedly
    is_importing = selection.reload or registry.modules
    code = check_code(child_environment(settings)) if is_importing else None
    settings = _check_services(settings, selection)
    fork_server = start_fork_server(
        modules_of(flower=selection.flower, http=selection.http, beat=selection.beat)
    )  # before any thread, connection and signal handler
    with Interrupts() as interrupts, ExitStack() as stack:
        if fork_server is not None:
            stack.callback(fork_server.close)
        services: list[SupervisedService] = []
        if (url := configured_server(settings)) is None:
            stack.enter_context(using_server(settings.data_dir))
            server = EmbeddedServer(settings.data_dir, bound=True)
            stack.callback(server.stop)
            url, services = server.start(), [ServerService(server)]
        settings = with_server(settings, url)
        workers = [
            worker_service(settings, name, heard=heard, fork_server=fork_server)
            for name in selection.worker_names
        ]
        services += [*_make_services(settings, selection, heard, fork_server), *workers]
        supervisor = stack.enter_context(Supervisor(services, interrupts=interrupts, say=say))
        stack.callback(stop_together, workers, interrupts.shutdown_flag)
        stack.callback(interrupts.disarm)
        try:
            say(f"server at {without_password(url)}, {source_of(url).name}")
            for line in _addresses(settings, selection):
                say(line)
            if selection.local_model is None:
                _report_missing_model(registry, say)
            say("press Ctrl-C to stop all services")
            readiness = stack.enter_context(_readiness(url, settings, selection, say))
            check_files = stack.enter_context(
                _reloading(
                    settings,
                    code if selection.reload else None,
                    restart=partial(supervisor.restart, workers),
                    say=say,
                )
            )
            while True:
                supervisor.check_services()
                check_files()
                if readiness.became_ready():
                    say("ready")
                time.sleep(_CHECK_SERVICES_EVERY_S)
        except KeyboardInterrupt:
            say("stopping after the turns in flight; press Ctrl-C again to terminate them")


def _check_services(settings: Settings, selection: ServiceSelection) -> Settings:
    """Check that the services can start; return the settings with their ports.

    Raises:
        MissingPackage: A package of a service is not installed.
        InvalidInput: A configured port is in use.
    """
    if selection.flower:
        check_installed("flower", "Flower (--no-flower: none)")
        settings = with_free_port(settings, "flower")
    if selection.http:
        for module in ("fastapi", "uvicorn"):
            check_installed(module, "the HTTP API (--no-http: none)")
        settings = with_free_port(settings, "http")
    if selection.beat:
        check_installed("redbeat", "a beat (--no-beat: none)")
    return settings


def _addresses(settings: Settings, selection: ServiceSelection) -> Iterator[str]:
    """Yield a line for each service with an address."""
    if selection.flower:
        yield f"Flower at http://{LOOPBACK}:{settings.flower_port}"
    if selection.http:
        yield f"HTTP API at http://{LOOPBACK}:{settings.http_port}/v1"


@contextmanager
def _reloading(
    settings: Settings, code: CodeReport | None, *, restart: Callable[[], None], say: Callable[[str], None]
) -> Iterator[Callable[[], None]]:
    """Yield a function that reloads changed code; None: it does nothing."""
    if code is None:
        yield lambda: None
        return
    file, environment = agents_file_of(settings), child_environment(settings)
    reloader = CodeReloader(file, code, environment=environment, reload=restart, say=say)
    try:
        yield reloader.check_files
    finally:
        reloader.close()


@contextmanager
def _readiness(
    url: str, settings: Settings, selection: ServiceSelection, say: Callable[[str], None]
) -> Iterator[Readiness]:
    names = [f"{name}@{socket.gethostname()}" for name in selection.worker_names]
    pages = [
        (LOOPBACK, port)
        for port, is_started in (
            (settings.flower_port, selection.flower),
            (settings.http_port, selection.http),
        )
        if is_started
    ]
    with connect(url, retries=0) as client:
        workers = WorkerPresence(client)
        _report_duplicates(workers, names, say)
        yield Readiness(workers, names, pages=pages)


def _report_duplicates(workers: WorkerPresence, names: Sequence[str], say: Callable[[str], None]) -> None:
    """Report nodes of the same name that run already: when they stop, they remove each other's announcement."""
    with suppress(RedisUnavailable):
        if running := sorted({worker.name for worker in workers.list_alive()} & set(names)):
            say(f"{', '.join(running)} may run already: if another `symposia up` runs, stop one of the two")


def _report_missing_model(registry: Registry, say: Callable[[str], None]) -> None:
    names = ", ".join(registry.names_on_local_model(built_in=False))
    if names and (missing := missing_part()) is not None:
        say(f"turns of {names} will fail: {missing}, then restart `symposia up`")


def _make_services(
    settings: Settings, selection: ServiceSelection, heard: OutputHandler, fork_server: ForkServer | None
) -> list[SupervisedService]:
    """Return all services except the server and the workers."""

    def program(name: str, command: list[str]) -> ProcessService:
        return ProcessService(
            name,
            command,
            environment=child_environment(settings),
            heard=lambda line: heard(name, line),
            stop_timeout_s=_STOP_TIMEOUT_S,
            fork_server=fork_server,
        )

    services: list[SupervisedService] = []
    wants_model = missing_part() is None if selection.local_model is None else selection.local_model
    if wants_model:
        services.append(LocalModelService(settings.data_dir))
    if selection.flower:
        services.append(program("flower", flower_command(settings.flower_port)))
    if selection.http:
        services.append(program("http", http_command(settings.http_port)))
    if selection.beat:
        services.append(program("beat", beat_command(banner=False)))
    return services
