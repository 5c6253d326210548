"""The thread that keeps the leases of a whole process."""

from __future__ import annotations

from redis.exceptions import InvalidResponse

from live import until
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
    with LeaseRenewer(store, lease_ms=60).keep_renewed(new_id(), GRANT, lambda: lost.append(True)):
        until(lambda: store.asked >= 3, what="the lease is renewed again")
    assert not lost


def test_lease_begun_during_shutdown_is_released():
    keeper, lost = LeaseRenewer(StumblingStore(), lease_ms=30_000), []
    with keeper.keep_renewed(new_id(), GRANT, lambda: lost.append("before")):
        keeper.cancel_all()
        assert lost == ["before"]
    with keeper.keep_renewed(new_id(), GRANT, lambda: lost.append("after")):
        assert lost == ["before", "after"]
