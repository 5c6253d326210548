"""The outcome of a step of a canvas: its record, its entry in the index, and the result of its Celery task.

For a session with `on_end`, the first two.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path

from redis import Redis

from chaos.audit.evidence import Evidence
from chaos.script import Finding
from live import until

#: The Celery task that follows a step, or that `on_end` names, and the file in which it notes the ids of its runs.
NOTED, NOTES = "chaos.noted", "noted"
#: Seconds in which a step whose session has ended is over: its message may be lost several times.
OVER_S = 90.0


def count_runs(folder: Path) -> Counter[str]:
    """Return the runs of the tasks after steps, by their ids, and forget them."""
    try:
        ids = (folder / NOTES).read_text().split()
    except FileNotFoundError:
        return Counter()
    (folder / NOTES).unlink()
    return Counter(ids)


def audit_step(redis: Redis, task: str | None, evidence: Evidence) -> Finding | None:
    """Return what is wrong with the outcome of a session that has ended; None: nothing.

    `task`: id of the step's Celery task; None: it has `on_end`.
    """
    record, index = f"symposia:{{{evidence.id}}}:step", "symposia:steps"

    def is_over() -> bool:
        return redis.hget(record, "stage") == "done" and redis.zscore(index, evidence.id) is None

    with suppress(AssertionError):
        until(is_over, timeout_s=OVER_S)
    if not is_over():
        return Finding(evidence.id, "outcome", f"it is not over: {redis.hgetall(record)}")
    if task is None:
        return None
    stored = redis.get(f"celery-task-meta-{task}")
    result = json.loads(stored) if isinstance(stored, str) else {}
    status = "SUCCESS" if evidence.session["status"] == "completed" else "FAILURE"
    turns = evidence.session["closed"]
    if result.get("status") != status or (status == "SUCCESS" and str(result["result"]["turns"]) != turns):
        return Finding(evidence.id, "outcome", f"{status} with {turns} turns is not its result: {result}")
    return None
