"""Services and sessions of `symposia demo`: one session per mode, in a temporary folder.

The services need no other service on the machine.

A librarian, an architect and a poet plan a library. With `local`, the local model answers for them; with
`scripted`, agents repeat the replies of the mode's `Demo`, or those in `agents/registry/demo.toml`. The host
and the reviewer follow a script in both cases: the local model is too small to decide who speaks next, or to
approve work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from ...agents.registry.registry import DEMO_FILE
from ...client import Client, installation_of
from ...client.embedded import EmbeddedServer
from ...config.settings import load_settings
from ...models.modes import Demo, Mode, modes
from ...models.sessions.submission import Submission
from .local_runtime import worker_service
from .services import LocalModelService
from .supervisor import Interrupts, SupervisedService, Supervisor

WORKERS = 2
#: Threads per worker.
_CONCURRENCY = 4
#: Seconds a worker may take to end before it is killed; nothing of value is lost.
_STOP_TIMEOUT_S = 3.0
_POLL_S = 0.05


@contextmanager
def start_demo(*, local_model: bool, say: Callable[[str], None]) -> Iterator[tuple[Client, Supervisor]]:
    """Start the services of the demo, and stop them at the end of the context.

    Args:
        local_model: Whether to start the local model.
        say: Callback for one line per restarted service.

    Yields:
        A client, and the supervisor of the services.


    Raises:
        StateError, LocalModelError: A service could not be started.
    """
    with (
        Interrupts() as interrupts,
        TemporaryDirectory(prefix="symposia-demo-", ignore_cleanup_errors=True) as folder,
        EmbeddedServer(Path(folder), durable=False, bound=True) as server,
    ):
        chosen = {
            "data_dir": folder,
            "agents_file": DEMO_FILE,
            "worker_concurrency": _CONCURRENCY,
            "sweep_interval_s": 0.2,
        }
        settings = load_settings(**chosen, redis_url=server.url, broker_url=server.url)
        services: list[SupervisedService] = [
            worker_service(settings, f"worker{number}", heard=_ignore_output, stop_timeout_s=_STOP_TIMEOUT_S)
            for number in range(1, WORKERS + 1)
        ]
        if local_model:
            services.append(LocalModelService(Path(folder)))
        with Supervisor(services, interrupts=interrupts, say=say, gives_up_after=3) as supervisor:
            client = Client(settings)
            while len(installation_of(client).sessions.workers.list_alive()) < WORKERS:
                supervisor.check_services()
                time.sleep(_POLL_S)
            yield client, supervisor


def _ignore_output(_name: str, _line: str) -> None:
    """Ignore the output of workers; if one ends, the supervisor reports its last line."""


AgentKind = Literal["local", "scripted"]

_ROLES = {"ada": "librarian", "ben": "architect", "cleo": "poet"}


def demo_sessions(kind: AgentKind, only: str | None = None) -> list[Submission]:
    """Return the sessions of the demo in the order of display; with `only`, the session of that mode."""
    return [
        _session(mode, mode.demo, kind)
        for mode in modes()
        if mode.demo is not None and only in (None, mode.name)
    ]


def _session(mode: Mode, demo: Demo, kind: AgentKind) -> Submission:
    roles = {**_ROLES, **demo.roles}
    agents = {
        name: {**({"agent": name} if name in demo.scripted else _agent(name, kind, replies)), **demo.binding}
        for name, replies in demo.replies.items()
    }
    participants = [
        {"participant_id": name, "role_id": roles.get(name), "display_name": name.capitalize()}
        for name in agents
    ]
    collab = {"title": demo.title, "purpose": demo.purpose, "mode": mode.name, "participants": participants}
    return Submission.build(
        collab, agents=agents, stop=demo.stop, options=demo.options, messages=list(demo.messages)
    )


def _agent(name: str, kind: AgentKind, replies: Sequence[Any]) -> dict[str, Any]:
    """Return the binding of a participant; the scripted agent says `replies` before its usual lines."""
    if kind == "local":
        return {"agent": name}
    binding: dict[str, Any] = {"agent": f"{name}-scripted"}
    return {**binding, "parameters": {"replies": list(replies)}} if replies else binding
