"""What a turn and a submit cost: counts that are the same on every machine.

A count that falls is lowered here; one that rises needs a reason.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from redis import Redis
from redis.connection import AbstractConnection

from sessions.inline_installation import InlineInstallation
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.text.ids import new_id
from symposia.state import presence
from symposia.state.redis.connect import connect
from symposia.state.sessions.turn_records import TaskInfo
from symposia.tasks.run_turn import handle_turn_message

#: Turns that are measured, after those that fill the caches.
TURNS, WARM = 20, 20


@dataclass
class Costs:
    """What was measured, together."""

    scripts: float = 0
    commands: float = 0
    #: Bytes that the server sent.
    sent_bytes: float = 0
    round_trips: float = 0
    validations: float = 0

    def __le__(self, other: Costs) -> bool:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return all(cost <= budget for cost, budget in pairs)


class Meter:
    """Counts the commands of a server, and round trips and validations of this process."""

    def __init__(self, server: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
        self._server = server
        self._is_on = False
        self._costs = Costs()
        send = AbstractConnection.send_packed_command

        def counting(connection: AbstractConnection, command: Any, check_health: bool = True) -> None:
            self._costs.round_trips += self._is_on
            send(connection, command, check_health)

        monkeypatch.setattr(AbstractConnection, "send_packed_command", counting)
        threading.setprofile(self._profile)  # also of the threads of agents, which start later

    def _profile(self, _frame: FrameType, event: str, called: Any) -> None:
        if self._is_on and event == "c_call" and called.__name__.startswith("validate_"):
            self._costs.validations += type(getattr(called, "__self__", None)).__name__ == "SchemaValidator"

    @contextmanager
    def measured(self, times: int) -> Iterator[Costs]:
        """Yield what the block costs, divided by `times` at its end."""
        costs = self._costs = Costs()
        self._server.config_resetstat()
        before = sys.getprofile()
        self._is_on = True
        sys.setprofile(self._profile)
        try:
            yield costs
        finally:
            sys.setprofile(before)
            self._is_on = False
        stats, network = self._server.info("commandstats"), self._server.info("stats")
        own = ("cmdstat_config|resetstat", "cmdstat_info")
        calls = {name: stat["calls"] for name, stat in stats.items() if name not in own}
        costs.scripts = sum(calls.get(f"cmdstat_{name}", 0) for name in ("eval", "evalsha")) / times
        costs.commands = sum(calls.values()) / times
        costs.sent_bytes = network["total_net_output_bytes"] / times
        costs.round_trips /= times
        costs.validations /= times


@pytest.fixture
def meter(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Meter]:
    with connect(redis_url) as server:
        yield Meter(server, monkeypatch)
    threading.setprofile(None)  # type: ignore[arg-type] - as its documentation says


@pytest.fixture
def installation(meter: Meter, tmp_path: Path, redis_url: str) -> Iterator[InlineInstallation]:
    installation = InlineInstallation(tmp_path, redis_url)
    yield installation
    installation.client.close()
    installation.close()


@pytest.mark.parametrize(
    ("claims_next", "budget"),
    [
        (False, Costs(scripts=2, commands=25, sent_bytes=1_600, round_trips=2, validations=17)),
        (True, Costs(scripts=1, commands=18, sent_bytes=900, round_trips=1, validations=16)),
    ],
    ids=["from a message", "kept by its thread"],
)
def test_turn_in_sequence(
    installation: InlineInstallation, meter: Meter, claims_next: bool, budget: Costs
) -> None:
    job = installation.submit("round_robin", {"ann": "noop", "bob": "noop"}, stop=MaxTurns(WARM + TURNS + 1))
    installation.queue.claims_next = claims_next
    for _ in range(WARM + 1):
        installation.deliver()
    waiting, runtime = installation.queue.waiting, installation.runtime
    with meter.measured(TURNS) as costs:
        for _ in range(TURNS):
            handle_turn_message(runtime, waiting.popleft(), TaskInfo(new_id(), parent=job.id))
    installation.queue.claims_next = False
    assert costs <= budget, costs


def test_submit(installation: InlineInstallation, meter: Meter, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a worker, whose announcement is read once a second."""
    monkeypatch.setattr(presence, "CACHE_S", 60)
    installation.client._installation.sessions.workers.announce("worker@here", ["noop"])

    def submit() -> None:
        installation.submit("round_robin", {"ann": "noop", "bob": "noop"}, stop=MaxTurns(1))

    for _ in range(2):
        submit()
    with meter.measured(TURNS) as costs:
        for _ in range(TURNS):
            submit()
    assert costs <= Costs(scripts=3, commands=24, sent_bytes=320, round_trips=2, validations=12), costs
    for job in (installation.client.get_job(it) for it in installation.runtime.index.list_ids()):
        job.cancel()
