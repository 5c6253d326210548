"""Scheduled reviews of archived sessions, or of a root that the worker's settings name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from ..models.errors import ArchiveUnavailable, InvalidInput, ReviewNotFound, SymposiaError
from ..models.gate import Gate
from ..models.protocol.collab import CollabMode
from ..models.turns.turn import Usage
from ..schedules.runner import TRANSIENT_ERRORS
from ..schedules.schedule import (
    ReviewAction,
    RunOutcome,
    Schedule,
    ScheduleRun,
    ScheduleRunProgress,
    SessionSelection,
)
from .batches.batch import stop_batch
from .batches.completion import read_run
from .batches.context import ReviewContext
from .batches.request import ReviewRequest
from .batches.start import record_failed_batch, start_batch
from .panels import find_panel
from .requests.files import request_for_root, request_for_sessions
from .requests.roots import LAST, SESSIONS_NAME, checked_branch, origin_of
from .sources.fetching import update_branch
from .sources.files import FileSelection
from .sources.repository import Repository
from .sources.sandboxed_folder import SandboxedFolder
from .sources.source import SourceLimits
from .state.records import BatchHead
from .values.coverage import coverage_of
from .values.panels import Panel, Seat
from .values.runs import ReviewRun, RunState, SkippedItem, headline

_OUTCOMES = {
    RunState.COMPLETED: RunOutcome.COMPLETED,
    RunState.PARTIAL: RunOutcome.PARTIAL,
    RunState.CANCELLED: RunOutcome.CANCELLED,
    RunState.FAILED: RunOutcome.FAILED,
}


#: Errors after which the same run is started again.
UNSTARTED_ERRORS = (ArchiveUnavailable, *TRANSIENT_ERRORS)


class ScheduledReview:
    """Scheduled reviews: one batch per run, with the run's id.

    Args:
        context: Function that returns the review context of this process.
        roots: Folders that may be reviewed, by name.
        git_token: Function that returns the token for fetches; None: there is none.
    """

    def __init__(
        self,
        context: Callable[[], ReviewContext],
        roots: Mapping[str, Path],
        *,
        git_token: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._context = context
        self._roots = roots
        #: Function that returns the token for fetches; None: there is none.
        self.git_token = git_token

    def start(self, schedule: Schedule, schedule_run: ScheduleRun) -> None:
        """Start the batch, unless it was started. A review that cannot start is a failed batch, which is delivered.

        Raises:
            ArchiveUnavailable, RedisUnavailable: No review begins.
        """
        review, context = schedule.review, self._context()
        assert review is not None  # noqa: S101 - a schedule without one names a job
        then = delivery_options(review, schedule.name)
        starter = context.store.claim_start(schedule_run.id)
        try:
            order = _of_sessions(context, review) if review.root is None else self._of_root(context, review)
            start_batch(context, replace(order, batch_id=schedule_run.id, then=then), starter=starter)
        except UNSTARTED_ERRORS:
            raise
        except SymposiaError as error:
            record_failure(context, review, schedule_run.id, str(error), starter=starter, then=then)

    def progress(self, schedule: Schedule, schedule_run: ScheduleRun) -> ScheduleRunProgress | None:
        """Return the progress of the batch. Raises ArchiveUnavailable."""
        context = self._context()
        try:
            view = context.store.view(schedule_run.id)
            if view.state == "opening":
                return None
            if not view.has_ended:
                return ScheduleRunProgress(usage=Usage(cost_micros=view.spent_cost_micros))
            run = read_run(context, schedule_run.id)
        except ReviewNotFound:
            return None
        outcome = _OUTCOMES.get(run.state, RunOutcome.FAILED)
        gate = None if schedule.review is None else schedule.review.fail_on
        detail = headline(run)
        if outcome is RunOutcome.COMPLETED and gate is not None:
            outcome = _gated(Gate.parse(gate), run)
        if outcome is RunOutcome.FAILED:
            detail = view.reason or detail
        if outcome is RunOutcome.PARTIAL:
            detail = " ".join(filter(None, (f"{detail}.", str(coverage_of(run)))))
        return ScheduleRunProgress(outcome, run.usage, detail, view.ended_ms or 0)

    def cancel(self, _schedule: Schedule, schedule_run: ScheduleRun) -> None:
        """Cancel the batch, and keep the findings so far."""
        try:
            stop_batch(self._context(), schedule_run.id, RunState.CANCELLED, "a newer run was due")
        except ReviewNotFound:
            return

    def _of_root(self, context: ReviewContext, review: ReviewAction) -> ReviewRequest:
        root = self.root_of(review)
        if review.update:
            update_branch(root, token=self.git_token())
        return request_for_folder(context, review, root)

    def root_of(self, review: ReviewAction) -> Path:
        """Return the folder of the root. Raises InvalidInput: the settings do not name it."""
        root = self._roots.get(review.root or "")
        if root is None:
            names = ", ".join(sorted(self._roots)) or "there is none"
            raise InvalidInput("root", review.root, f"must be a root of SYMPOSIA_REVIEW_ROOTS: {names}")
        return root


def request_for_folder(context: ReviewContext, review: ReviewAction, folder: Path) -> ReviewRequest:
    """Return the request to review a root in a folder.

    Raises:
        InvalidInput: A name or path of the review does not exist.
        ArchiveUnavailable: The archive is needed, and does not answer.
    """
    repository = Repository.find(folder)
    chosen = FileSelection(
        paths=review.paths,
        include=review.include,
        exclude=review.exclude,
        since=LAST if review.since_last else review.since,
        base=review.base,
    )
    config = None if not (review.config or review.no_config) else _files_below(folder, review.config)
    order = request_for_root(
        folder,
        find_panel(review.panel).with_model(review.model),
        chosen,
        name=review.root_name or review.root or "",
        branch=checked_branch(review.branch, repository),
        archive=context.archive,
        config=config,
    )
    return replace(
        order,
        panel=_limited(order.panel, review),
        everything=review.everything,
        against=review.against or "",
        **origin_of(repository, review.repository_url),
    )


def record_failure(
    context: ReviewContext,
    review: ReviewAction,
    batch_id: str,
    reason: str,
    *,
    starter: int,
    then: Mapping[str, JsonValue],
) -> None:
    """Record a batch that could not start, so that its report is delivered. Raises as `record_failed_batch` does."""
    panel = _panel_of(review)
    head = BatchHead(
        batch_id=batch_id,
        root_name=review.root_name or review.root or SESSIONS_NAME,
        panel=panel,
        panel_sha=panel.sha(),
        then=dict(then),
    )
    record_failed_batch(context, head, starter, reason)


def _files_below(root: Path, paths: Sequence[str]) -> list[Path]:
    """Return files of a root. Raises InvalidInput: a path leads out of the root, or a link is in it."""
    with SandboxedFolder(root) as folder:
        for path in paths:
            if isinstance(skipped := folder.read(path, limit=SourceLimits().item_bytes), SkippedItem):
                raise InvalidInput("config", path, f"must be a file below the root: {skipped.reason}")
    return [root / path for path in paths]


def _limited(panel: Panel, review: ReviewAction) -> Panel:
    """Return the panel with the limits of the schedule in place of its own."""
    limits = {"max_tokens": review.max_tokens, "max_usd": review.max_usd}
    batch = panel.batch.model_copy(
        update={name: value for name, value in limits.items() if value is not None}
    )
    changes = {name: getattr(review, name) for name in ("min_confidence", "batch_api")}
    return panel.with_parallel(review.parallel).model_copy(
        update={"batch": batch, **{name: value for name, value in changes.items() if value is not None}}
    )


def _panel_of(review: ReviewAction) -> Panel:
    """Return the panel of a review that could not start; without it, one of the same name."""
    try:
        return find_panel(review.panel).with_model(review.model)
    except InvalidInput:
        seat = Seat(name="noop", agent="noop")
        return Panel(name=review.panel, mode=CollabMode.ROUND_ROBIN, purpose="Not found.", seats=(seat,))


def _gated(gate: Gate, run: ReviewRun) -> RunOutcome:
    """Return the outcome of a completed run by its gate."""
    if gate.fails(run.findings):
        return RunOutcome.FINDINGS
    is_whole = not gate.unreviewed or coverage_of(run).is_whole
    return RunOutcome.COMPLETED if is_whole else RunOutcome.PARTIAL


def _of_sessions(context: ReviewContext, review: ReviewAction) -> ReviewRequest:
    chosen = review.sessions or SessionSelection()
    order = request_for_sessions(
        archive=context.archive,
        panel=review.panel,
        model=review.model,
        tag=chosen.tag,
        participant=chosen.participant,
        newest=chosen.newest,
    )
    return replace(order, panel=_limited(order.panel, review), everything=review.everything)


def delivery_options(review: ReviewAction, schedule: str) -> dict[str, JsonValue]:
    """Return the options of the report's delivery, as names of the workers' settings."""
    return {
        "schedule": schedule,
        "deliver": list(review.deliver),
        "formats": list(review.formats),
        "only_on_change": review.only_on_change,
        **({} if review.pull_request is None else {"pull_request": {"number": review.pull_request}}),
    }
