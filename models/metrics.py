"""Catalogue of the metrics: name, meaning, labels and buckets of each.

Every label has few values: modes, statuses, outcomes, classes of reasons. No label contains an id or any text of
a session, so the number of time series is bounded.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice, product
from typing import Literal

from .protocol.collab import CollabMode, CollabStatus, added_mode_names

#: Label value for everything that has no value of its own.
OTHER = "other"
#: Modes of the protocol. Their order is a part of stored scores (`LiveSessions`).
MODES = tuple(mode.value for mode in CollabMode)
#: Maximum number of added modes with a label value of their own: those that a process added first.
MAX_ADDED_MODES = 20
_LABEL = re.compile(r"[A-Za-z0-9_.-]{1,50}")


def added_mode_labels() -> tuple[str, ...]:
    """Return the label values of the modes that this process added."""
    names = (name for name in added_mode_names() if _LABEL.fullmatch(name) and name != OTHER)
    return tuple(islice(names, MAX_ADDED_MODES))


def mode_label(mode: str) -> str:
    """Return the label value of a mode: its name, or `other` for a mode that this process does not know."""
    return str(mode) if mode in MODES or mode in added_mode_labels() else OTHER


class TurnOutcomeLabel(StrEnum):
    """How an attempt of a turn ended."""

    MESSAGE = "message"
    PASSED = "passed"
    #: The failure policy skipped the turn, or no answer came in time.
    SKIPPED = "skipped"
    #: The last attempt failed, and the session was cancelled.
    FAILED = "failed"
    #: The attempt failed; another one follows, by the same agent or by its substitute.
    RETRIED = "retried"
    #: The turn waits for an answer from outside.
    PARKED = "parked"
    #: The output was refused: the worker no longer held the turn.
    REFUSED = "refused"
    #: The lease was lost while the agent was running.
    LOST = "lost"


class StuckReason(StrEnum):
    """Why an unfinished session makes no progress."""

    #: A message of it waits for a worker, and workers take none from the queue.
    QUEUED = "queued"
    #: A turn waits for a part of the budget.
    BUDGET = "budget"
    #: The sweep cannot read it.
    UNREADABLE = "unreadable"
    #: No worker sweeps it.
    UNSWEPT = "unswept"


#: Reasons of the end of a session that have a label value of their own.
REASONS = frozenset(
    {
        "approved",
        "board_empty",
        "cancelled",
        "converged",
        "cost_budget",
        "deadline",
        "failed",
        "max_rounds",
        "max_turns",
        "no_answer",
        "parent_ended",
        "repetition",
        "round_of_passes",
        "satisfied",
        "stalled",
        "stop_requested",
        "tenant_budget",
        "text_seen",
        "token_budget",
    }
)


#: Statuses of ended sessions.
END_STATUSES = (CollabStatus.COMPLETED.value, CollabStatus.CANCELLED.value)


def status_label(status: str) -> str:
    """Return the label value of the status of an ended session: itself, or `other` if it is no such status."""
    return status if status in END_STATUSES else OTHER


def reason_class(reason: str) -> str:
    """Return the label value of a reason: itself, `several` for joined reasons, else `other`."""
    if reason in REASONS:
        return reason
    return "several" if "+" in reason and set(reason.split("+")) <= REASONS else OTHER


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. A counter's name ends in `_total`."""

    name: str
    help: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...] = ()
    #: Label values that are exported as 0 before the first event, so that the first event is an increase.
    known: tuple[tuple[str, ...], ...] = ()
    #: Number of stored units in one exported unit: counts are stored as integers.
    scale: int = 1
    #: Upper bounds of a histogram's buckets, in seconds.
    buckets: tuple[float, ...] = ()

    def bucket(self, seconds: float) -> str:
        """Return the name of the bucket of an observation."""
        index = bisect_left(self.buckets, seconds)
        return f"{self.buckets[index]:g}" if index < len(self.buckets) else "+Inf"

    def known_values(self) -> Iterator[tuple[str, ...]]:
        """Yield the combinations of known label values; added modes are known, too."""
        if len(self.known) != len(self.labels):
            return iter(())
        return product(*(MODES + added_mode_labels() if values is MODES else values for values in self.known))


_OUTCOMES = tuple(label.value for label in TurnOutcomeLabel)
_MODE = (("mode",), (MODES,))

TURNS = Metric(
    "symposia_turns_total",
    "Attempts of turns that have ended, by outcome; an answer to a parked turn counts as one.",
    "counter",
    ("mode", "outcome"),
    (MODES, _OUTCOMES),
)
TURN_SECONDS = Metric(
    "symposia_turn_seconds",
    "Seconds from the grant of a turn to the end of its attempt.",
    "histogram",
    *_MODE,
    scale=1_000,
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
)
QUEUE_WAIT_SECONDS = Metric(
    "symposia_queue_wait_seconds",
    "Seconds from the dispatch of a turn, or from the resume of its session, to its grant.",
    "histogram",
    *_MODE,
    scale=1_000,
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600),
)
LOCK_WAITS = Metric(
    "symposia_lock_waits_total",
    "Turns that found their lock held by another worker and ended at once.",
    "counter",
    *_MODE,
)
COMMITS_REFUSED = Metric(
    "symposia_commits_refused_total",
    "Outputs of turns that were not written, by the answer of the script: `stale` (the turn has another holder), "
    "`inactive` (the turn was dropped), and others.",
    "counter",
    ("mode", "reason"),
    (MODES, ("stale", "inactive")),
)
SESSIONS_STARTED = Metric(
    "symposia_sessions_started_total", "Sessions whose first turn was planned.", "counter", *_MODE
)
SESSIONS_ENDED = Metric(
    "symposia_sessions_ended_total",
    "Sessions that have ended, by status and class of the reason.",
    "counter",
    ("mode", "status", "reason"),
)
TOKENS = Metric(
    "symposia_tokens_total",
    "Tokens of models; cached tokens are a part of the input.",
    "counter",
    ("mode", "direction"),
    (MODES, ("input", "output", "cached")),
)
COST = Metric(
    "symposia_cost_dollars_total", "Cost of models in US dollars.", "counter", *_MODE, scale=1_000_000
)
SWEEPS = Metric(
    "symposia_sweeps_total",
    "Sweeps over the due sessions.",
    "counter",
    ("result",),
    (("done", "failed"),),
)
LOST_WORKERS = Metric(
    "symposia_lost_workers_total",
    "Worker processes that ended in the middle of their work, or whose machine was lost.",
    "counter",
)
SWEEP_DISPATCHES = Metric(
    "symposia_sweep_dispatches_total", "Turns and steps that the sweep sent again.", "counter"
)
ARCHIVED = Metric("symposia_archived_sessions_total", "Archivings of sessions with new content.", "counter")
ARCHIVE_FAILURES = Metric(
    "symposia_archive_failures_total", "Failed attempts to write to the archive.", "counter"
)
MEMORY_UNAVAILABLE = Metric(
    "symposia_memory_unavailable_total", "Turns that ran without their dialog memory.", "counter"
)

#: Metrics whose counts are stored in Redis.
COUNTED = (
    TURNS,
    TURN_SECONDS,
    QUEUE_WAIT_SECONDS,
    LOCK_WAITS,
    COMMITS_REFUSED,
    SESSIONS_STARTED,
    SESSIONS_ENDED,
    TOKENS,
    COST,
    SWEEPS,
    SWEEP_DISPATCHES,
    LOST_WORKERS,
    ARCHIVED,
    ARCHIVE_FAILURES,
    MEMORY_UNAVAILABLE,
)

SESSIONS = Metric(
    "symposia_sessions",
    "Sessions that have not ended.",
    "gauge",
    ("mode", "status"),
    (MODES, ("active", "suspended")),
)
SESSIONS_STUCK = Metric(
    "symposia_sessions_stuck",
    "Active sessions without progress for longer than SYMPOSIA_STUCK_AFTER_S.",
    "gauge",
    ("reason",),
    (tuple(reason.value for reason in StuckReason),),
)
PARKED_TURNS = Metric("symposia_parked_turns", "Open questions to people in the inbox.", "gauge")
ARCHIVE_BACKLOG = Metric(
    "symposia_archive_backlog_sessions", "Sessions whose archiving is due or overdue.", "gauge"
)
WORKERS = Metric("symposia_workers", "Workers that announced themselves within the last 30 seconds.", "gauge")

#: Metrics that the reader of Redis takes from the indexes.
GAUGES = (SESSIONS, SESSIONS_STUCK, PARKED_TURNS, ARCHIVE_BACKLOG, WORKERS)

AGE = Metric(
    "symposia_metrics_age_seconds",
    "Seconds since these metrics were read from Redis.",
    "gauge",
)
