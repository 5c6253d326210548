"""The outcome of a step of a canvas: its record, its entry in the index, and the result of its Celery task."""

from __future__ import annotations

import json
from contextlib import suppress

from redis import Redis

from chaos.audit.evidence import Evidence
from chaos.script import Finding
from live import until

#: Seconds in which a step whose session has ended is over: its message may be lost several times.
OVER_S = 90.0


def audit_step(redis: Redis, task: str, evidence: Evidence) -> Finding | None:
    """Return what is wrong with the outcome of a step whose session has ended; None: nothing."""
    record, index = f"symposia:{{{evidence.id}}}:step", "symposia:steps"

    def is_over() -> bool:
        return redis.hget(record, "stage") == "done" and redis.zscore(index, evidence.id) is None

    with suppress(AssertionError):
        until(is_over, timeout_s=OVER_S)
    if not is_over():
        return Finding(evidence.id, "outcome", f"it is not over: {redis.hgetall(record)}")
    stored = redis.get(f"celery-task-meta-{task}")
    result = json.loads(stored) if isinstance(stored, str) else {}
    status = "SUCCESS" if evidence.session["status"] == "completed" else "FAILURE"
    turns = evidence.session["closed"]
    if result.get("status") != status or (status == "SUCCESS" and str(result["result"]["turns"]) != turns):
        return Finding(evidence.id, "outcome", f"{status} with {turns} turns is not its result: {result}")
    return None
