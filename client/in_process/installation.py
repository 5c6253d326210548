"""The parts of an installation whose sessions run in this process: agents, turns in threads, and a server."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...config.settings import load_settings
from ...jobs.collab import CollabJob
from ...jobs.questions import follow_questions
from ...models.errors import InvalidInput, SymposiaError
from ...models.sessions.submission import Submission
from ...state.presence import WorkerPresence
from ...tasks.runtime.runtime import Runtime
from ...tasks.sessions.sweep import sweep
from ..building.connection import redis_url_in_use
from ..building.installation import Installation
from ..building.runtime import build_runtime, load_registry, with_current_agents
from .dispatch import ThreadDispatch
from .server import borrow_server

log = logging.getLogger(__name__)

#: Seconds between two sweeps, which send retries and end what is overdue.
SWEEP_EVERY_S = 0.2
#: Seconds between two announcements of this process as a worker.
_ANNOUNCE_EVERY_S = 5.0
#: Kinds of agents that wait for an answer from outside, and for whose.
_WAITING = {"human": "a person", "external": "a remote system"}
#: Turns of all sessions that run side by side.
THREADS = 32


class InProcessInstallation(Installation):
    """An installation whose sessions run in this process. It has no archive, unless `settings` ask for one.

    Args:
        agents: Agents by name, as of `LocalClient`.
        threads: Maximum number of turns that run side by side.
        url: A server for the sessions. None: an embedded server that no other client uses; this process keeps one for the next client.
        keeps_files: Whether files are in the folder `data_dir` of the settings. Otherwise `close` deletes them.
        settings: Settings by name in the place of those of this process.

    Raises:
        InvalidInput: An object is no agent, or a setting is wrong.
        EmbeddedServerError: The server cannot be started.
        RegistryError: The agents file breaks a rule.
    """

    def __init__(
        self,
        agents: Mapping[str, object],
        *,
        threads: int = THREADS,
        url: str | None = None,
        keeps_files: bool = False,
        **settings: Any,
    ) -> None:
        check_agent_names(agents)
        _check_threads(threads)
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="symposia-")))
            url = url or stack.enter_context(borrow_server())
            own: dict[str, Any] = {"archive": False, "worker_concurrency": threads}
            own |= {} if keeps_files else {"data_dir": folder}
            own |= {**settings, "redis_url": url, "broker_url": None, "database_url": None}
            chosen = load_settings(**own)
            self._objects = dict(agents)
            self._registry = load_registry(chosen, objects=agents, import_modules=True)
            stack.callback(self._registry.threads.close)
            for problem in self._registry.module_problems:
                log.warning("problem in the agents file, its agents are unknown: %s", problem)
            dispatch = ThreadDispatch(threads=threads)
            super().__init__(chosen, None, graph=dispatch)
            stack.callback(super().close)
            runtime = build_runtime(
                None,
                chosen,
                redis_url=redis_url_in_use(chosen),
                agents=lambda: self._registry,
                graph=dispatch,
            )
            stack.callback(runtime.store.client.close)
            find_runtime = with_current_agents(runtime, lambda: self._registry)
            dispatch.bind(find_runtime)
            stack.callback(dispatch.close)
            stack.callback(runtime.agents.runner.close)
            stack.callback(runtime.agents.leases.cancel_all)
            self._announce = partial(_announce, find_runtime)
            stack.enter_context(_sweeping(find_runtime, self._announce))
            stack.callback(self._cancel_all, runtime)
            self._stack = stack.pop_all()

    def close(self) -> None:
        """Cancel the sessions that have not ended, and close what was opened. A second call does nothing."""
        self._stack.close()

    def _cancel_all(self, runtime: Runtime) -> None:
        for session_id in runtime.index.list_ids():
            with suppress(SymposiaError):  # it has ended in the meantime
                self.sessions.get(session_id).cancel("the client was closed")

    def add_agent(self, name: str, agent: object) -> None:
        """Add an agent, or replace it in turns that begin later. Raises InvalidInput if the object is no agent."""
        objects, threads = {**self._objects, name: agent}, self._registry.threads
        self._registry = load_registry(self.settings, objects=objects, import_modules=True, threads=threads)
        self._objects = objects
        self._announce()

    def submit_unattended(self, submission: Submission) -> CollabJob:
        """Submit a session that needs no answer from outside.

        Raises:
            InvalidInput: A value breaks a rule, or an agent waits for a person or a remote system.
        """
        if submission.draft:
            raise InvalidInput(
                "draft", True, "must be omitted here, where nothing could activate it: use `LocalClient`"
            )
        self._refuse_waiting(submission, _WAITING, "use `LocalClient`")
        return self.sessions.submit(submission)

    def submit_and_wait(self, submission: Submission) -> CollabJob:
        """Submit a session, and wait until it has ended or a person is asked.

        Raises:
            InvalidInput: A value breaks a rule, or an agent waits for a remote system, whose answers cannot reach this
                process.
        """
        remote = {kind: who for kind, who in _WAITING.items() if kind != "human"}
        self._refuse_waiting(submission, remote, "`task_always_eager` runs sessions in this process")
        job = self.sessions.submit(submission)
        if not submission.draft:
            next(follow_questions(job, job.pending), None)
        return job

    def _refuse_waiting(self, submission: Submission, kinds: Mapping[str, str], hint: str) -> None:
        waiting = {agent.name: agent.kind for agent in self._registry.describe() if agent.kind in kinds}
        for name in sorted(self._registry.needed_by(submission.agents_in_use()) & waiting.keys()):
            rule = f"must answer by themselves, but {name!r} waits for {kinds[waiting[name]]}: {hint}"
            raise InvalidInput("agents", name, rule)


def check_agent_names(agents: object) -> None:
    """Check that agents are a table with texts as names.

    Raises:
        InvalidInput: They are not.
    """
    if not isinstance(agents, Mapping):
        raise InvalidInput("agents", agents, "must be a table of agents by name")
    for name in agents:
        if not isinstance(name, str):
            raise InvalidInput("agents", name, "must have texts as names")


def _check_threads(threads: object) -> None:
    if not isinstance(threads, int) or threads < 1:
        raise InvalidInput("threads", threads, "must be an integer of at least 1")


def _announce(find_runtime: Callable[[], Runtime]) -> None:
    """Announce this process as a worker with its agents."""
    runtime = find_runtime()
    known = runtime.agents.registry.known()
    WorkerPresence(runtime.store.client).announce(f"local-{os.getpid()}@local", known)


@contextmanager
def _sweeping(find_runtime: Callable[[], Runtime], announce: Callable[[], None]) -> Iterator[None]:
    """Announce this process as a worker, and sweep its sessions in a thread."""
    is_over = threading.Event()
    announce()

    def work() -> None:
        sweeps = 0
        while not is_over.wait(SWEEP_EVERY_S):
            sweeps += 1
            try:
                if sweeps % round(_ANNOUNCE_EVERY_S / SWEEP_EVERY_S) == 0:
                    announce()
                sweep(find_runtime())
            except SymposiaError as error:
                log.warning("sweep failed, will retry: %s", error)
            except Exception:
                log.exception("sweep failed, will retry")

    thread = threading.Thread(target=work, name="symposia-sweep", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
