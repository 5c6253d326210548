"""Which turns a thread claims with the commit of the turn before, and what it does with the answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sessions.inline_installation import InlineInstallation
from symposia.models.errors import RedisUnavailable
from symposia.models.protocol.events import MAPEventType
from symposia.models.sessions.stop_conditions import MaxTurns, TokenBudget
from symposia.state.sessions.records import ScriptAnswer
from symposia.state.sessions.store import SessionStore
from symposia.tasks.turns import turn as patience

REGISTRY = """
[agents.quiet]
kind = "scripted"
replies = ["word"]

[agents.limited]
kind = "llm"
model = "house"

[models.house]
model = "openai:any"
base_url = "http://127.0.0.1:9/v1"
requests_per_minute = 1000
"""


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> Iterator[InlineInstallation]:
    with closing(InlineInstallation(tmp_path, redis_url, REGISTRY)) as installation:
        yield installation
        installation.client.close()


def first_turn(installation: InlineInstallation, *, second: str = "quiet", **how: Any) -> str:
    """Run the first turn of a session; return the status of the second one."""
    settings = {"stop": MaxTurns(4), **how}
    job = installation.submit("round_robin", {"ann": "quiet", "bob": second}, **settings)
    assert [installation.deliver(), installation.deliver()] == ["advanced", "committed"]
    status = installation.runtime.store.state(job.id).records[2].status
    job.cancel()
    return status


def test_next_turn_is_claimed(installation: InlineInstallation) -> None:
    assert first_turn(installation) == "speaking"


def test_thread_that_may_not_keep_it_claims_nothing(installation: InlineInstallation) -> None:
    installation.queue.claims_next = False
    assert first_turn(installation) == "planned"


@pytest.mark.parametrize(
    "how",
    [{"tenant": "acme"}, {"stop": TokenBudget(100) | MaxTurns(4)}, {"second": "limited"}],
    ids=["tenant", "budget", "rate limit"],
)
def test_turn_for_which_something_is_reserved_first_is_not_claimed(
    installation: InlineInstallation, how: dict[str, Any]
) -> None:
    assert first_turn(installation, **how) == "planned"


class LossyStore(SessionStore):
    """Loses the first answers of a commit."""

    lost = 2

    def commit(self, *args: Any, **how: Any) -> ScriptAnswer:
        answer = super().commit(*args, **how)
        if self.lost:
            self.lost -= 1
            raise RedisUnavailable("redis://here")
        return answer


def test_outage_is_no_time_of_the_claimed_turn(
    installation: InlineInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer of the commit is lost: its repetition finds the claim, and `begin` gives the same grant again."""
    monkeypatch.setattr(patience, "PAUSE_S", 0.5)
    stores = installation.runtime.stores
    lossy = replace(stores, store=LossyStore(installation.runtime.store.client))
    job = installation.submit("round_robin", {"ann": "quiet", "bob": "quiet"}, stop=MaxTurns(2))
    installation.deliver()
    installation.runtime = replace(installation.runtime, stores=lossy)
    assert installation.work() == ["done", "committed"]
    (_, second), events = job.messages(), list(job.events())
    ends = [it.timestamp for it in events if it.event_type == MAPEventType.TURN_COMPLETED]
    grants = [it for it in events if it.event_type == MAPEventType.TURN_DISPATCHED]
    assert len(grants) == len(ends) == 2
    assert second.timestamp <= ends[1] + timedelta(milliseconds=1), "the message is stamped in the future"
