"""Sessions whose turns a test runs one by one, in its own process, with all real parts and no worker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from celery import Celery

from stub_agents.memory import REGISTRY
from symposia.client import Client
from symposia.client.building.installed import install_settings
from symposia.client.building.runtime import build_runtime
from symposia.config.settings import load_settings
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, CollabMode, Participant
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.state.sessions.turn_records import TaskInfo
from symposia.tasks.planning.advance import advance
from symposia.tasks.run_turn import handle_turn_message
from symposia.tasks.runtime.graph import TurnCall
from symposia.tasks.runtime.runtime import Runtime


@dataclass
class Stepper:
    """A client and a runtime on one server."""

    client: Client
    runtime: Runtime

    @classmethod
    def on(cls, redis_url: str, folder: Path, *, tables: str = "") -> Stepper:
        """`tables`: more of the agents file, in front."""
        (folder / "agents.toml").write_text(tables + REGISTRY)
        settings = load_settings(redis_url=redis_url, agents_file=folder / "agents.toml", data_dir=folder)
        app = Celery(broker=redis_url, set_as_current=False)
        install_settings(app, lambda: settings)
        return cls(Client(settings, app=app), build_runtime(app, settings, redis_url=redis_url))

    def open(self, *agents: str, turns: int, **how: Any) -> CollabJob:
        """A session whose first turn is planned."""
        people = [Participant(participant_id=name) for name in agents]
        collab = Collab(title="A trip", purpose="book it", mode="round_robin", participants=people)
        job = self.client.submit(collab, stop=MaxTurns(turns), **how)
        self.plan(job)
        return job

    def plan(self, job: CollabJob) -> None:
        """What `symposia.advance` does."""
        advance(self.runtime, job.id, parent=job.id)

    def turn(self, job: CollabJob, number: int, *, handed_on: bool = False, **changed: Any) -> str:
        """What `symposia.turn` does; `changed` replaces parts of the runtime."""
        people = job.collab().participants
        name = people[(number - 1) % len(people)].participant_id
        call = TurnCall(job.id, number, name, CollabMode.ROUND_ROBIN, "floor", handed_on=handed_on)
        task = TaskInfo(f"t{number}", parent=job.id)
        return handle_turn_message(replace(self.runtime, **changed), call, task).word
