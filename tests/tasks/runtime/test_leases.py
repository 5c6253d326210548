"""The thread that keeps the leases of a whole process."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from redis.exceptions import InvalidResponse

from live import until
from sessions.inline_installation import InlineInstallation
from symposia.models.sessions.stop_conditions import MaxRounds
from symposia.models.text.ids import new_id
from symposia.state.sessions.records import Grant
from symposia.tasks.runtime.leases import LeaseRenewer

GRANT = Grant(
    number=1,
    scope="floor",
    token=new_id(),
    fence=1,
    grants=1,
    failures=0,
    takeovers=0,
    substitute=None,
    messages=(),
)


class StumblingStore:
    """Answers the first renewal with what no client expects, and renews from then on."""

    def __init__(self) -> None:
        self.asked = 0

    def renew(self, _session_id: str, _grant: Grant, *, lease_ms: int) -> bool:  # noqa: ARG002
        self.asked += 1
        if self.asked == 1:
            raise InvalidResponse("Protocol Error: b'?'")
        return True


def test_unexpected_error_does_not_end_renewals():
    store, lost = StumblingStore(), []
    with LeaseRenewer(store, lease_ms=60).keep_renewed(new_id(), GRANT) as lease:
        until(lambda: store.asked >= 2, what="the lease is renewed without a running agent")
        with lease.cancel_when_lost(lambda: lost.append(True)):
            until(lambda: store.asked >= 4, what="the lease is renewed again")
    assert not lost


def test_lease_begun_during_shutdown_is_released():
    keeper, lost = LeaseRenewer(StumblingStore(), lease_ms=30_000), []
    with keeper.keep_renewed(new_id(), GRANT) as lease:
        with lease.cancel_when_lost(lambda: lost.append("before")):
            keeper.cancel_all()
            assert lost == ["before"]
        with lease.cancel_when_lost(lambda: lost.append("next agent")):
            assert lost == ["before", "next agent"]
    with (
        keeper.keep_renewed(new_id(), GRANT) as lease,
        lease.cancel_when_lost(lambda: lost.append("after")),
    ):
        assert lost == ["before", "next agent", "after"]


def test_turn_is_not_lost_while_its_agent_is_imported(
    tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "imported_slowly.py").write_text(
        "import time\ntime.sleep(2.5)\ndef speak(turn):\n    return 'at last'\n"
    )
    registry = '[agents.slow]\nkind = "python"\ncallable = "imported_slowly:speak"\n'
    with closing(InlineInstallation(tmp_path, redis_url, registry, lease_s=1)) as installation:
        job = installation.submit("round_robin", {"ann": "slow"}, stop=MaxRounds(1))
        installation.work()
        assert [it.content for it in job.messages()] == ["at last"]
