"""Loads: sessions of a mode, and bare tasks of the same shape; both return what a run took."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from harness.errors import BenchmarkError
from harness.stage import Place, wait_until
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.protocol.events import MAPEventType
from symposia.models.sessions.stop_conditions import MaxTurns

#: Turns side by side of the parallel modes.
WIDTH = 4
SEQUENTIAL = ("round_robin", "pair", "orchestrated")
MODES = (*SEQUENTIAL, "broadcast", "swarm")
#: Options of sessions whose agents say the same in each turn.
REPEATING: Mapping[str, Any] = {"repetition": "ignore"}
#: The values of a run, by name.
Values = dict[str, float]


def agents_of(mode: str, *, count: int = WIDTH, agent: str | None = None) -> dict[str, str]:
    """Return the agent of each participant of a mode; `agent`: the same for all."""
    if mode == "pair":
        return {"driver": agent or "quiet", "navigator": agent or "reviewer"}
    if mode == "orchestrated":
        return {"orchestrator": agent or "lead", "ann": agent or "quiet", "bob": agent or "quiet"}
    names = ("ann", "bob", "cyd", "dan")[:count]
    names += tuple(f"p{number}" for number in range(len(names), count))
    return dict.fromkeys(names, agent or "quiet")


@dataclass(frozen=True)
class Load:
    """Sessions that are submitted at once and run to their end.

    `width`: turns side by side, which the bare tasks have, too; 0: that of the mode.
    """

    mode: str = "round_robin"
    sessions: int = 1
    turns: int = WIDTH
    agents: Mapping[str, str] = field(default_factory=dict)
    width: int = 0
    history: int = 0
    wait_s: float = 0

    @property
    def bare_width(self) -> int:
        """The number of bare tasks side by side."""
        return self.width or (1 if self.mode in SEQUENTIAL else WIDTH)

    @property
    def all_turns(self) -> int:
        """The number of turns of all sessions."""
        return self.sessions * self.turns


def build_collab(mode: str, agents: Mapping[str, str]) -> Collab:
    """Return a collab with these participants."""
    people = [Participant(participant_id=name) for name in agents]
    return Collab(title="bench", purpose="go fast", mode=mode, participants=people)


def submit(place: Place, load: Load) -> list[CollabJob]:
    """Submit the sessions of a load."""
    agents = dict(load.agents) or agents_of(load.mode)
    options: dict[str, Any] = dict(REPEATING)
    if load.mode == "orchestrated":
        options["max_stalls"] = 100
    if load.mode == "swarm":
        items = [{"text": f"item {number}"} for number in range(load.turns)]
        options |= {"items": items, "max_items": load.turns}
    extra: dict[str, Any] = {"options": options}
    if load.wait_s:
        extra["parameters"] = {"wait_s": load.wait_s}
    if load.history:
        extra["messages"] = [f"Message {number} of the dialog so far." for number in range(load.history)]
    how = {"agents": agents, "stop": MaxTurns(load.turns), **extra}
    return place.client.submit_many(
        {"collab": build_collab(load.mode, agents), **how} for _ in range(load.sessions)
    )


def run_turns(place: Place, load: Load) -> Values:
    """Run the sessions; return turns per second and the processor time of a turn, archiving included.

    Raises:
        BenchmarkError: The sessions ran another number of turns.
    """
    jobs, values = time_sessions(place, lambda: submit(place, load), load.all_turns)
    closed = sum(job.state().closed for job in jobs)
    if closed != load.all_turns:
        raise BenchmarkError(f"{load.mode}: {closed} turns instead of {load.all_turns}")
    if load.history:  # the load is one session
        values["rate"] = _rate_of_later_turns(jobs[0], load.turns)
    return values


def _rate_of_later_turns(job: CollabJob, turns: int) -> float:
    """Return the turns a second of the second half of a session.

    During the first half, the messages that were submitted with the session are archived: each once, whatever the
    number of turns.
    """
    types = (MAPEventType.TURN_DISPATCHED, MAPEventType.SESSION_COMPLETED)
    times = [event.timestamp for event in job.events() if event.event_type in types]
    return (turns - turns // 2) / (times[-1] - times[turns // 2]).total_seconds()


def time_sessions(
    place: Place, start: Callable[[], list[CollabJob]], turns: int
) -> tuple[list[CollabJob], Values]:
    """Return the sessions that `start` submits, and the values of their turns, once they have ended."""
    open_before, cpu = place.unfinished(), place.worker_cpu("app")
    server_cpu, began = place.server_cpu(), time.perf_counter()
    jobs = start()
    wait_until(lambda: place.unfinished() <= open_before, f"{len(jobs)} sessions end")
    seconds = time.perf_counter() - began
    wait_archived(place, open_before)
    values = {
        "rate": turns / seconds,
        "worker": (place.worker_cpu("app") - cpu) * 1_000 / turns,
        "server": (place.server_cpu() - server_cpu) * 1_000 / turns,
    }
    return jobs, values


def wait_archived(place: Place, open_sessions: int = 0) -> None:
    """Wait until the archive has every ended session. Entries due later are last checks of ended sessions."""

    def archived() -> bool:
        soon_ms = time.time_ns() // 1_000_000 + 60_000
        return place.archive_queue.count(before_ms=soon_ms) <= open_sessions

    wait_until(archived, "ended sessions are archived")


def run_bare(place: Place, load: Load, *, leaner: bool = False) -> Values:
    """Run bare tasks of the shape of a load; `leaner`: in the workers and over the transport of the turns."""
    bare, kind = (place.leaner, "app") if leaner else (place.bare, "plain")
    width = load.bare_width
    rounds = max(load.turns // width, 1)
    bare.clear()
    cpu, server_cpu, began = place.worker_cpu(kind), place.server_cpu(), time.perf_counter()
    for chain in range(load.sessions):
        bare.start(f"chain-{chain:031}", width=width, rounds=rounds, wait_s=load.wait_s)
    wait_until(lambda: bare.count_done() >= load.sessions, "bare tasks end")
    seconds = time.perf_counter() - began
    tasks = load.sessions * rounds * width
    return {
        "rate": tasks / seconds,
        "worker": (place.worker_cpu(kind) - cpu) * 1_000 / tasks,
        "server": (place.server_cpu() - server_cpu) * 1_000 / tasks,
    }


def bare_gaps_ms(place: Place, tasks: int) -> list[float]:
    """Return the milliseconds from each task of one chain to the next."""
    place.bare.clear()
    place.bare.start(f"chain-{0:031}", width=1, rounds=tasks, stamped=True)
    wait_until(lambda: place.bare.count_done() >= 1, "bare tasks end")
    return gaps_ms(json.loads(place.redis.get("bench:stamps") or "[]"))


def gaps_ms(stamps: list[int]) -> list[float]:
    """Return the milliseconds between times in nanoseconds."""
    return [(later - earlier) / 1e6 for earlier, later in pairwise(stamps)]


def warm_up(place: Place) -> None:
    """Run both kinds of workers once, so that no case pays for imports and connections."""
    load = Load(sessions=2, turns=8)
    run_turns(place, load)
    run_bare(place, load)
