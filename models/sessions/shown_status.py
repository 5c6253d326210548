"""The status of a session as people see it: it separates a failure, a limit and a cancellation. Pure.

A collab has five statuses. Of an ended session the status and the reason together say what happened: a session that an
agent's failure ended is stored as `cancelled`, and one that its budget ended as `completed`.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import permutations

from ..protocol.collab import CollabStatus


class ShownStatus(StrEnum):
    """Status of a session in lists, pages and filters."""

    DRAFT = "draft"
    ACTIVE = "active"
    SUSPENDED = "suspended"
    #: A turn failed for good, all turns failed, or nobody answered.
    FAILED = "failed"
    #: A budget or the deadline ended it.
    LIMIT = "limit"
    COMPLETED = "completed"
    #: A user, a program or its parent ended it.
    CANCELLED = "cancelled"


#: Reasons of an end by a failure; the status is `cancelled`.
FAILURE_REASONS = frozenset({"failed", "all_turns_failed", "no_answer"})
_LIMITS = ("token_budget", "cost_budget", "tenant_budget", "deadline")
#: Reasons of an end by a limit, with those of conditions joined by `&`. A number of rounds or turns is the plan of most
#: sessions, so `max_rounds` and `max_turns` are no such limits.
LIMIT_REASONS = frozenset(
    "+".join(codes) for count in range(1, len(_LIMITS) + 1) for codes in permutations(_LIMITS, count)
)
#: Statuses of sessions that have not ended.
UNFINISHED = frozenset({ShownStatus.DRAFT, ShownStatus.ACTIVE, ShownStatus.SUSPENDED})


def shown_status(status: str, reason: str | None) -> ShownStatus:
    """Return the status to show.

    Args:
        status: Status of the collab.
        reason: Reason of its end, as stored.

    Raises:
        ValueError: The status is not that of a collab.
    """
    if status == CollabStatus.CANCELLED and reason in FAILURE_REASONS:
        return ShownStatus.FAILED
    if status in (CollabStatus.CANCELLED, CollabStatus.COMPLETED) and reason in LIMIT_REASONS:
        return ShownStatus.LIMIT
    return ShownStatus(status)
