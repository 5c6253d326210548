"""The sessions of benchmarks/dashboard.py: archived ones of many kinds, and live ones that wait, rest or run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from harness.agents import AGENTS
from redis.exceptions import RedisError

from symposia import MaxTurns
from symposia.archive.archive import Archive
from symposia.client import Client
from symposia.client.processes import end_process
from symposia.config.settings import Settings, child_environment
from symposia.jobs.collab import CollabJob
from symposia.models.errors import SymposiaError
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.protocol.dialog import Role, build_turn_message
from symposia.models.sessions.archived import STREAM_STARTS, ArchivePage, Documents, Snapshot
from symposia.models.text.ids import new_id, utcnow
from symposia.workspace.sql.store import deliver_to_conversation

FOLDER = Path(__file__).parent
#: Archived sessions per transaction, and the days in which they were opened.
BATCH, DAYS = 500, 60
TURNS = 12
TENANTS = ("press", "shop", "legal", "care", None)
PEOPLE = ("ann", "bob", "cem", "dora", "eve")
NAMES = ("writer", "critic", "planner", "coder", "reviewer", "lawyer")
TITLES = (
    "The autumn letter",
    "Plan of\nthe release",
    "Who pays?\n\nThe case of 2026",
    "Map of the école",
    "議事録",
)
WORDS = ("door", "blue", "lamp", "river", "stone", "paper", "cloud", "seven", "quiet", "engine")
ERRORS = (
    "TimeoutError: no answer after 30 s",
    "RuntimeError: disk full at 17 of 20",
    "ValueError: bad tool call",
)
ENDS = (
    *[("completed", "max_turns", f"{TURNS} of {TURNS} turns")] * 6,
    ("completed", "token_budget", "1,587 of 1,500 tokens"),
    ("cancelled", "deadline", "after 2 hours"),
    ("cancelled", "wrong question", ""),
    *[("cancelled", "failed", "")] * 3,
)
#: Seconds of a turn of a running session, its turns, and the threads of the worker: 20 changes a second.
WAIT_S, RUNNING_TURNS, THREADS = 2.0, 8, 40


def fill_archive(url: str, count: int) -> None:
    """Archive sessions of many kinds, each with `TURNS` messages."""
    archive = Archive(url, deliver_to_conversation)
    archive.prepare()
    random, now_ms = Random(7), round(time.time() * 1000)  # noqa: S311 - the same sessions in each run
    texts = [" ".join(random.choices(WORDS, k=60)) for _ in range(100)]
    for start in range(0, count, BATCH):
        pages = [_archived(random, now_ms, texts) for _ in range(min(BATCH, count - start))]
        assert archive.writer.write_all(pages)
    archive.close()


def _archived(random: Random, now_ms: int, texts: list[str]) -> ArchivePage:
    names = random.sample(PEOPLE, random.randint(2, 4))
    tags = random.sample(("red", "blue", "urgent", "weekly"), random.randint(0, 2))
    document = Collab.model_validate(
        {
            "title": f"{random.choice(TITLES)} {random.randint(1, 9_999)}",
            "purpose": "measure",
            "mode": random.choice(("pair", "round_robin", "swarm", "broadcast")),
            "participants": [{"participant_id": name, "display_name": name.title()} for name in names],
            "meta": {"tags": tags},
        }
    )
    spec = {
        "agents": {name: {"agent": random.choice(NAMES)} for name in names},
        "parameters": {"brief": " ".join(random.choices(texts, k=4))},
        "stop": {
            "kind": "any",
            "conditions": [{"turns": TURNS, "kind": "max_turns"}, {"kind": "round_of_passes"}],
        },
        "dialog_id": new_id(),
        "tenant": random.choice(TENANTS),
    }
    opened_ms = now_ms - random.randint(3_600_000, DAYS * 86_400_000)
    status, reason, detail = random.choice(ENDS)
    ended_ms = opened_ms + random.randint(10_000, 600_000)
    streams = _Streams(document.collab_id, opened_ms, (ended_ms - opened_ms) // TURNS)
    for turn in range(1, TURNS + 1):
        error = random.choice(ERRORS) if reason == "failed" and turn == TURNS else ""
        streams.add_turn(turn, names[turn % len(names)], random.choice(texts), error)
        detail = f"{names[turn % len(names)]}: {error}" if error else detail
    tokens = random.randint(200, 9_000)
    fields = {
        "status": status, "dialog_status": "completed", "reason": reason, "detail": detail,
        "closed": TURNS, "rounds": TURNS // 2, "messages": len(streams.dialog), "input_tokens": tokens * 4,
        "output_tokens": tokens, "requests": TURNS, "cost_micros": tokens * random.randint(5, 60),
        "started_ms": opened_ms, "opened_ms": opened_ms, "updated_ms": ended_ms, "ended_ms": ended_ms,
    }  # fmt: skip
    return ArchivePage(
        session_id=document.collab_id,
        opened_ms=opened_ms,
        documents=Documents(document.to_json(), json.dumps(spec)),
        since=STREAM_STARTS,
        dialog=tuple(streams.dialog),
        events=tuple(streams.events),
        snapshot=Snapshot({name: str(value) for name, value in fields.items()}, {}, {}),
    )


class _Streams:
    """The stream entries of an archived session."""

    def __init__(self, session_id: str, opened_ms: int, each_ms: int) -> None:
        self._session_id, self._opened_ms, self._each_ms = session_id, opened_ms, each_ms
        self.dialog: list[tuple[str, str]] = []
        self.events: list[tuple[str, str]] = []

    def add_turn(self, turn: int, name: str, text: str, error: str) -> None:
        at_ms, token = self._opened_ms + turn * self._each_ms, new_id()
        payload = {"role_id": token, "turn_number": turn, "token_id": token, "participant_id": name}
        self._add_event(at_ms, "MAPTurnDispatched", payload)
        result = {"outcome": "failed", "error": error} if error else {"outcome": "message"}
        self._add_event(at_ms + self._each_ms - 1, "MAPTurnCompleted", {**payload, "result": result})
        if not error:
            message = build_turn_message(
                Role.AGENT, text, timestamp=utcnow(), participant_id=name, turn_number=turn, token_id=token,
                fence=turn,
            )  # fmt: skip
            self.dialog.append((f"{at_ms + self._each_ms - 1}-0", message.to_json()))

    def _add_event(self, at_ms: int, event_type: str, payload: Mapping[str, Any]) -> None:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_ms / 1000))
        event = {
            "event_id": new_id(), "event_type": event_type, "timestamp": at, "session_id": self._session_id,
            "payload": payload,
        }  # fmt: skip
        self.events.append((f"{at_ms}-{len(self.events)}", json.dumps(event)))


def collab(title: str, *, second: str = "agent") -> Collab:
    """Return a collab of ann and bob; `second` is the kind of bob."""
    people = [
        Participant(participant_id="ann", kind="agent"),
        Participant(participant_id="bob", kind=second),
    ]
    return Collab(title=title, purpose="measure", mode="pair", participants=people)


def submit_live(client: Client, count: int) -> list[CollabJob]:
    """Submit live sessions: half of them ask a person, a tenth is suspended, the others run."""
    jobs = []
    for number in range(count):
        jobs.append(_submit(client, number))
        if number % 10 == 9:
            jobs[-1].suspend()
    return jobs


def _submit(client: Client, number: int) -> CollabJob:
    asks = number % 2 == 0
    return client.submit(
        collab(f"Live {TITLES[number % len(TITLES)]} {number}", second="human" if asks else "agent"),
        agents={"ann": "quiet"} if asks else {"ann": "slow", "bob": "slow"},
        tenant=TENANTS[number % len(TENANTS)],
        parameters={} if asks else {"wait_s": WAIT_S},
        stop=None if asks else MaxTurns(RUNNING_TURNS),
        options={"repetition": "ignore"},
    )


@contextmanager
def running(settings: Settings, client: Client, count: int) -> Iterator[None]:
    """Run a worker; sessions that end are replaced, so that `count` are live."""
    path = os.pathsep.join(filter(None, (str(FOLDER), os.environ.get("PYTHONPATH"))))
    command = [
        sys.executable,
        "-m",
        "symposia.workers",
        "worker",
        "--pool=threads",
        f"--concurrency={THREADS}",
    ]
    index, ends = client._installation.sessions.connections.index, threading.Event()

    def replace() -> None:
        number = 1
        while not ends.wait(0.5):
            try:
                for _ in range(count - index.unfinished()):
                    _submit(client, number)
                    number += 2
            except (SymposiaError, RedisError) as error:
                print(f"a session was not submitted: {error}", flush=True)

    replacer = threading.Thread(target=replace)
    with subprocess.Popen(
        command, env=child_environment(settings) | {"PYTHONPATH": path}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as worker:  # fmt: skip
        replacer.start()
        try:
            yield
        finally:
            ends.set()
            replacer.join()
            worker.terminate()
            end_process(worker, timeout_s=20)


def write_agents(folder: Path) -> Path:
    """Write the agents file; return its path."""
    path = folder / "agents.toml"
    path.write_text(AGENTS)
    return path
