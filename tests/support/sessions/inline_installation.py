"""Sessions in one process and no broker: a real server, the real turn task, and a queue that is a list.

What Celery would deliver is delivered when a test says so, so a test knows when nothing runs.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from celery import Celery

from live import until
from symposia.client import Client
from symposia.client.building.runtime import build_runtime
from symposia.config.settings import load_settings
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.text.ids import new_id
from symposia.state.sessions.turn_records import TaskInfo
from symposia.tasks.planning.advance import advance
from symposia.tasks.run_turn import handle_turn_message
from symposia.tasks.runtime.graph import FirstStep, TaskGraph, TurnCall
from symposia.tasks.sessions.sweep import sweep
from symposia.tasks.turns.results import TurnEnd
from symposia.workers.worker_app import create_worker_app


class Queue(TaskGraph):
    """Messages that wait."""

    def __init__(self, app: Celery) -> None:
        super().__init__(app)
        self.waiting: deque[TurnCall | str] = deque()
        #: Whether turns in this thread claim the next one, as they do in the thread of a worker.
        self.claims_next = True
        self._thread = threading.get_ident()

    def send_turns(self, calls: Sequence[TurnCall], **_options: str | int) -> None:
        self.waiting.extend(calls)

    def may_keep_next(self) -> bool:
        return self.claims_next and threading.get_ident() == self._thread

    def keep_next(self, call: TurnCall, **_options: str | int) -> None:
        self.waiting.appendleft(call)

    def send_first_steps(self, steps: Iterable[FirstStep]) -> None:
        self.waiting.extend(step.session for step in steps)

    def send_advance(self, session_id: str, **_options: bool | int) -> None:
        self.waiting.append(session_id)


class InlineInstallation:
    """One worker and one client, in this process."""

    def __init__(self, folder: Path, redis_url: str, registry: str = "", **settings: Any) -> None:
        (folder / "agents.toml").write_text(registry)
        self.settings = load_settings(
            redis_url=redis_url,
            agents_file=folder / "agents.toml",
            data_dir=folder,
            **{"redispatch_after_s": 1, "lease_s": 30, **settings},
        )
        app = create_worker_app(self.settings)
        self.queue = Queue(app)
        #: What became of the turns that were delivered.
        self.ends: list[TurnEnd] = []
        runtime = build_runtime(app, self.settings, redis_url=redis_url)
        opener = dataclasses.replace(runtime.sessions.opener, graph=self.queue)
        own_sessions = dataclasses.replace(runtime.sessions, opener=opener)
        self.runtime = dataclasses.replace(runtime, graph=self.queue, sessions=own_sessions)
        self.client = Client(self.settings, app=app)
        sessions = self.client._installation.sessions
        own = dataclasses.replace(sessions._opener, graph=self.queue)
        sessions._find_opener = lambda: own
        sessions.connections = dataclasses.replace(
            sessions.connections, graph=self.queue, find_opener=sessions._find_opener
        )

    def submit(
        self, mode: str, agents: dict[str, Any], *, people: Sequence[str] = (), **how: Any
    ) -> CollabJob:
        """Submit a session of participants with agents and of people."""
        names = dict.fromkeys((*agents, *people))
        collab = Collab(
            title="A session",
            purpose="see that it works",
            mode=mode,
            participants=[
                Participant(participant_id=name, kind="human" if name in people else "agent")
                for name in names
            ],
        )
        return self.client.submit(collab, agents=agents, **how)

    def deliver(self) -> str:
        """Delivers one message; answers what became of it."""
        message = self.queue.waiting.popleft()
        if not self.queue.waiting:  # whatever was sent before now has been taken
            self.runtime.stores.queue_progress.record_taken(self.runtime.index.now_ms())
        if isinstance(message, str):
            advance(self.runtime, message, parent=message)
            return "advanced"
        self.ends.append(
            handle_turn_message(self.runtime, message, TaskInfo(new_id(), parent=message.session))
        )
        return self.ends[-1].word

    def work(self) -> list[str]:
        """Delivers all there is and all that comes of it; answers what became of the messages."""
        words = []
        while self.queue.waiting:
            words.append(self.deliver())
        return words

    def sweep(self) -> list[str]:
        """One look of the sweep at what is due, and the work it finds."""
        sweep(self.runtime)
        return self.work()

    def sweep_until(self, job: CollabJob, condition: Callable[[], object]) -> None:
        """Looks at a session again and again until the condition is true."""

        def met() -> object:
            self.runtime.index.set_due_by(job.id, 0)
            self.sweep()
            return condition()

        until(met, what="the sweep does what is due")

    def close(self) -> None:
        self.runtime.agents.runner.close()
