"""Check of a schedule's names against the workers that will run it: roots, jobs, panels, agents."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from ...models.errors import InvalidInput, UnknownAgent
from ...models.schedules.schedule import Schedule
from ...state.workers.presence import WorkerPresence


def check_names(schedule: Schedule, workers: WorkerPresence) -> None:
    """Refuse a schedule whose names a live worker does not know; without a live worker nothing is checked.

    Raises:
        InvalidInput: a root, a job or a panel that not every live worker has.
        UnknownAgent: the agent of a review's model seats is not registered.
    """
    review = schedule.review
    if schedule.job is not None:
        _check("job", schedule.job, workers.offered("jobs"), "a job of the workers (SYMPOSIA_JOBS)")
    if review is None:
        return
    if review.root is not None:
        offered = workers.offered("roots")
        _check("review.root", review.root, offered, "a root of the workers (SYMPOSIA_REVIEW_ROOTS)")
    _check("review.panel", review.panel, workers.offered("panels"), "a panel of the workers")
    known = workers.known_agents()
    if review.model is not None and known and review.model not in known:
        raise UnknownAgent(review.model, known=known, field="review.model")


def _check(field: str, name: str, offered: Collection[str] | None, what: str) -> None:
    if offered is None or name in offered:
        return
    near = get_close_matches(name, offered, n=3) or sorted(offered)[:10]
    raise InvalidInput(field, name, f"must be {what}: {', '.join(near) or 'none is configured'}")
