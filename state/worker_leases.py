"""Leases of worker processes: which of them were lost, and the sessions that each worked on.

The heartbeat process of a worker renews the leases (`workers/heartbeat/`). All keys share one cluster slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from redis import Redis

from .redis.keys import worker_lease_key
from .redis.scripts import call_script, load_script

#: Milliseconds without a report after which a process counts as lost: with its machine, because otherwise its end
#: is reported. Reports are two seconds apart.
LEASE_MS = 6_000
#: Milliseconds without a check for lost processes after which Redis counts as having been away.
_GAP_MS = 3_000
#: Milliseconds for which a lost process belongs to the worker that takes over its turns.
_HOLD_MS = 3_000

_LEASES, _LOST, _CHECKS = (worker_lease_key(part) for part in ("leases", "lost", "checks"))


def lease_keys(process: str) -> list[str]:
    """Return the keys of the script `worker_leases/report` for a process."""
    return [_LEASES, worker_lease_key(f"sessions:{process}")]


def report_script() -> str:
    """Return the script with which a heartbeat process reports a process of its worker."""
    return load_script("worker_leases/report").text


class WorkerLeases:
    """The leases of all worker processes. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def claim_lost(self) -> list[str]:
        """Return lost processes whose turns the caller takes over; no other caller gets them for three seconds.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        args = {"lease_ms": LEASE_MS, "gap_ms": _GAP_MS, "hold_ms": _HOLD_MS}
        processes: list[str] = call_script(
            self._client, "worker_leases/claim", [_LEASES, _LOST, _CHECKS], args
        )[1]
        return processes

    def sessions_of(self, process: str) -> list[str]:
        """Return the sessions that a process worked on when it last reported, or when it ended."""
        return sorted(cast("set[str]", self._client.smembers(lease_keys(process)[1])))

    def remove(self, process: str) -> None:
        """Remove a lost process whose turns were taken over."""
        keys = [_LEASES, _LOST, lease_keys(process)[1]]
        call_script(self._client, "worker_leases/remove", keys, {"process": process})

    def lost_among(self, processes: Sequence[str]) -> frozenset[str]:
        """Return those of the processes that were seen to end, or that are being taken over.

        An expired lease alone is no loss: `claim_lost` decides, because after an outage of Redis all have expired.
        """
        if not processes:
            return frozenset()
        pipeline = self._client.pipeline(transaction=False)
        for key in (_LEASES, _LOST):
            pipeline.zmscore(key, list(processes))
        leases, lost = pipeline.execute()
        rows = zip(processes, leases, lost, strict=True)
        return frozenset(process for process, end_ms, lost_ms in rows if lost_ms is not None or end_ms == 0)
