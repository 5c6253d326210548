"""A schedule (times, action, policies for overlapping and missed times) and its runs.

A run belongs to one due time. A schedule names what is done, and never describes it: a panel and a root,
or a job, each by the name that the settings of the workers give it. So a person who may write schedules
cannot bring code, files or hosts to a worker.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from ..models.gate import Gate
from ..models.protocol.base import NonBlank, ProtocolObject
from ..models.text.durations import WholeDuration
from ..models.text.ids import Id, ResourceName, derived_id
from ..models.turns.frozen import Frozen
from ..models.turns.turn import Usage
from .recurrence import Recurrence

Patterns = Annotated[tuple[Annotated[NonBlank, Field(max_length=200)], ...], Field(max_length=100)]

#: Seconds after which a time that is due counts as missed.
DEFAULT_GRACE_S = 60


class OverlapPolicy(StrEnum):
    """Policy for a due time while an earlier run is not done."""

    #: It is left out.
    SKIP = "skip"
    #: It waits for the earlier ones.
    QUEUE = "queue"
    #: The earlier one is cancelled.
    CANCEL = "cancel"


class MissedPolicy(StrEnum):
    """Policy for missed runs."""

    SKIP = "skip"
    #: The latest of them is made up for.
    ONCE = "once"


class SessionSelection(ProtocolObject):
    """Filter of archived sessions: those that have ended, newest first."""

    tag: Annotated[NonBlank, Field(max_length=200)] | None = None
    participant: Annotated[NonBlank, Field(max_length=200)] | None = None
    #: Maximum number of items; None: 5,000.
    newest: int | None = Field(default=None, ge=1, le=5_000)


def _normalise_gate(text: str) -> str:
    return str(Gate.parse(text))


def _is_default(value: object) -> bool:
    return value is None or value is False or value == ()


#: Fields of a review of a root only.
_OF_ROOT = (
    "include",
    "exclude",
    "base",
    "since",
    "since_last",
    "paths",
    "config",
    "no_config",
    "root_name",
    "branch",
    "repository_url",
    "pull_request",
    "update",
    "open_pull_requests",
)
#: Fields of a review of a root that each open pull request sets.
_OF_PULLS = ("base", "since", "since_last", "branch", "pull_request", "update")


class ReviewAction(ProtocolObject):
    """A panel reviews a named root, or archived sessions."""

    panel: ResourceName
    root: ResourceName | None = None
    sessions: SessionSelection | None = None
    #: The agent in the panel's seats for a model; None: programs alone.
    model: ResourceName | None = None
    #: Only files that one of these patterns fits; none: every file.
    include: Patterns = ()
    exclude: Patterns = ()
    #: Only what changed since the last run that was completed.
    since_last: bool = False
    #: Only what changed since the checked-out branch left this one.
    base: Annotated[NonBlank, Field(max_length=200)] | None = None
    #: Reports in these formats.
    formats: Annotated[tuple[ResourceName, ...], Field(max_length=10)] = ("markdown",)
    #: Destinations of the report, by their names in the settings.
    deliver: Annotated[tuple[ResourceName, ...], Field(max_length=10)] = ()
    #: Deliver only when findings are new or gone.
    only_on_change: bool = False
    #: The outcome is `findings` when an open one reaches this gate, such as `high` or `new:high`.
    fail_on: Annotated[str, AfterValidator(_normalise_gate)] | None = None
    #: Branch whose last runs decide which findings are new; None: the last runs of any branch.
    against: Annotated[NonBlank, Field(max_length=200)] | None = None
    # Fields with their default are left out of stored schedules, because workers of release 0.1.0 do not know them.
    #: Files and folders below the root; none: all of it.
    paths: Annotated[Patterns, Field(exclude_if=_is_default)] = ()
    #: Only what changed since this git revision.
    since: Annotated[NonBlank | None, Field(max_length=200, exclude_if=_is_default)] = None
    #: Files of settings of ruff and bandit below the root, instead of the project's own.
    config: Annotated[Patterns, Field(exclude_if=_is_default)] = ()
    #: True: the project's settings are ignored.
    no_config: Annotated[bool, Field(exclude_if=_is_default)] = False
    #: Identity of the root in runs and reports; None: its name.
    root_name: Annotated[NonBlank | None, Field(max_length=100, exclude_if=_is_default)] = None
    #: Branch that is recorded with the run; None: the checked-out branch.
    branch: Annotated[NonBlank | None, Field(max_length=200, exclude_if=_is_default)] = None
    repository_url: Annotated[NonBlank | None, Field(max_length=1_000, exclude_if=_is_default)] = None
    #: True: include items that have not changed since the panel reviewed them.
    everything: Annotated[bool, Field(exclude_if=_is_default)] = False
    #: Limits that replace those of the panel.
    max_tokens: Annotated[int | None, Field(ge=1, le=10**12, exclude_if=_is_default)] = None
    max_usd: Annotated[float | None, Field(ge=1e-6, le=1e6, exclude_if=_is_default)] = None
    parallel: Annotated[int | None, Field(ge=1, le=64, exclude_if=_is_default)] = None
    #: Whether models are asked through batch APIs; None: the panel's setting.
    batch_api: Annotated[bool | None, Field(exclude_if=lambda value: value is None)] = None
    min_confidence: Annotated[float | None, Field(ge=0, le=1, exclude_if=_is_default)] = None
    #: Number of the pull or merge request that gets the comments.
    pull_request: Annotated[int | None, Field(ge=1, le=2**53, exclude_if=_is_default)] = None
    #: True: the checked-out branch is fetched from the remote `origin` before the review.
    update: Annotated[bool, Field(exclude_if=_is_default)] = False
    #: Delivery to the code host whose open pull requests are reviewed, each in a run of its own; None: the root is.
    open_pull_requests: Annotated[ResourceName | None, Field(exclude_if=_is_default)] = None

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if (self.root is None) == (self.sessions is None):
            raise ValueError("must have exactly one of `root` and `sessions`")
        if self.sessions is not None and (given := [name for name in _OF_ROOT if getattr(self, name)]):
            raise ValueError(f"`{given[0]}` requires `root`")
        if self.open_pull_requests and (given := [name for name in _OF_PULLS if getattr(self, name)]):
            raise ValueError(f"`{given[0]}` cannot be combined with `open_pull_requests`")
        if sum(map(bool, (self.since, self.base, self.since_last))) > 1:
            raise ValueError("must have at most one of `since`, `base` and `since_last`")
        if self.config and self.no_config:
            raise ValueError("`config` cannot be combined with `no_config`")
        return self

    @property
    def description(self) -> str:
        """Description of the reviewed items, for people."""
        pulls = "open pull requests of " if self.open_pull_requests else ""
        return f"{pulls}{self.root or 'archived sessions'}"


class Schedule(ProtocolObject):
    """An action at set times: a review, or a job of the settings.

    Raises:
        InvalidInput: On construction, for the first field that breaks a rule.
    """

    name: ResourceName
    when: Recurrence
    review: ReviewAction | None = None
    #: The name of a session file in the workers' settings (`SYMPOSIA_JOBS`).
    job: ResourceName | None = None
    overlap: OverlapPolicy = OverlapPolicy.SKIP
    missed: MissedPolicy = MissedPolicy.SKIP
    #: Seconds for which a time may be late before it counts as missed.
    grace_s: WholeDuration = Field(default=DEFAULT_GRACE_S, ge=10, le=3_600)

    @model_validator(mode="after")
    def _check_action(self) -> Self:
        if (self.review is None) == (self.job is None):
            raise ValueError("must have exactly one of `review` and `job`")
        return self

    @property
    def kind(self) -> str:
        """`review`, `pulls` (reviews of open pull requests) or `job`."""
        if self.review is None:
            return "job"
        return "pulls" if self.review.open_pull_requests else "review"

    @property
    def description(self) -> str:
        """Description of the action, for people."""
        if self.review is None:
            return f"job {self.job}"
        return f"review {self.review.description} by {self.review.panel}"


class RunOutcome(StrEnum):
    """Outcome of a schedule run."""

    COMPLETED = "completed"
    #: It was done, and found what matters as much as the schedule says.
    FINDINGS = "findings"
    #: Some of it failed, or a limit was met.
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"
    #: An earlier run had not finished.
    SKIPPED = "skipped"
    #: Missed: no worker was running while it was due.
    MISSED = "missed"


class ScheduleRun(Frozen):
    """A run for a claimed due time, or a manual run."""

    #: The same for the same schedule and time, so what is started under it is started once.
    id: Id
    due_ms: int
    #: True: a manual run, requested at `due_ms`.
    by_hand: bool = False
    claimed_ms: int = 0
    #: Start of its action, by the clock of the server; 0: not started.
    started_ms: int = 0
    #: Kind of the started action (`Schedule.kind`): the schedule may have been replaced since; empty: not started.
    kind: str = ""


class ScheduleRunRecord(Frozen):
    """Record of a schedule run in the history."""

    id: Id
    due_ms: int
    by_hand: bool = False
    outcome: RunOutcome
    started_ms: int = 0
    ended_ms: int
    usage: Usage = Usage()
    #: Result, or the reason for no result; one line.
    detail: Annotated[str, Field(max_length=500)] = ""

    @property
    def duration_s(self) -> float:
        """From its beginning to its end; 0 for what never began."""
        return (self.ended_ms - self.started_ms) / 1000 if self.started_ms else 0.0


@dataclass(frozen=True, slots=True)
class ScheduleRunProgress:
    """Progress of a schedule run; `outcome` is None while it runs."""

    outcome: RunOutcome | None = None
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    detail: str = ""
    #: When it ended, by the clock of the server; 0: when that was seen.
    ended_ms: int = 0


def schedule_run_id(schedule: str, origin_ms: int, due_ms: int, *, by_hand: str = "") -> str:
    """Return the id of the run due at `due_ms` of a schedule that was added at `origin_ms`.

    `by_hand`: id of the request of a manual run: two may be requested in the same millisecond.
    """
    return derived_id(f"{schedule}|{origin_ms}|{due_ms}|{by_hand}")
