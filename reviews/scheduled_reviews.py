"""Scheduled reviews of archived sessions, or of a root that the worker's settings name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from ..models.errors import InvalidInput, ReviewNotFound
from ..models.gate import Gate
from ..models.turns.turn import Usage
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
from .batches.start import start_batch
from .panels import find_panel
from .requests.files import request_for_root, request_for_sessions
from .requests.roots import LAST, origin_of
from .sources.files import FileSelection
from .sources.repository import Repository
from .values.coverage import coverage_of
from .values.runs import ReviewRun, RunState, headline

_OUTCOMES = {
    RunState.COMPLETED: RunOutcome.COMPLETED,
    RunState.PARTIAL: RunOutcome.PARTIAL,
    RunState.CANCELLED: RunOutcome.CANCELLED,
    RunState.FAILED: RunOutcome.FAILED,
}


class ScheduledReview:
    """Scheduled reviews: one batch per run, with the run's id.

    Args:
        context: Function that returns the review context of this process.
        roots: Folders that may be reviewed, by name.
    """

    def __init__(self, context: Callable[[], ReviewContext], roots: Mapping[str, Path]) -> None:
        self._context = context
        self._roots = roots

    def start(self, schedule: Schedule, schedule_run: ScheduleRun) -> None:
        """Start the batch, unless it was started.

        Raises:
            InvalidInput: The root, the panel or a revision does not exist, or there is no archive.
            ArchiveUnavailable, RedisUnavailable: No review begins.
        """
        review, context = schedule.review, self._context()
        assert review is not None  # noqa: S101 - a schedule without one names a job
        order = _of_sessions(context, review) if review.root is None else self._of_root(context, review)
        start_batch(
            context, replace(order, batch_id=schedule_run.id, then=_delivery_options(review, schedule.name))
        )

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
        name = review.root or ""
        root = self._roots.get(name)
        if root is None:
            names = ", ".join(sorted(self._roots)) or "there is none"
            raise InvalidInput("root", name, f"must be a root of SYMPOSIA_REVIEW_ROOTS: {names}")
        repository = Repository.find(root)
        chosen = FileSelection(
            include=review.include,
            exclude=review.exclude,
            since=LAST if review.since_last else None,
            base=review.base,
        )
        order = request_for_root(
            root,
            find_panel(review.panel).with_model(review.model),
            chosen,
            name=name,
            branch="" if repository is None else repository.branch(),
            archive=context.archive,
        )
        return replace(order, against=review.against or "", **origin_of(repository))


def _gated(gate: Gate, run: ReviewRun) -> RunOutcome:
    """Return the outcome of a completed run by its gate."""
    if gate.fails(run.findings):
        return RunOutcome.FINDINGS
    is_whole = not gate.unreviewed or coverage_of(run).is_whole
    return RunOutcome.COMPLETED if is_whole else RunOutcome.PARTIAL


def _of_sessions(context: ReviewContext, review: ReviewAction) -> ReviewRequest:
    chosen = review.sessions or SessionSelection()
    return request_for_sessions(
        archive=context.archive,
        panel=review.panel,
        model=review.model,
        tag=chosen.tag,
        participant=chosen.participant,
        newest=chosen.newest,
    )


def _delivery_options(review: ReviewAction, schedule: str) -> dict[str, JsonValue]:
    """Return the options of the report's delivery, as names of the workers' settings."""
    return {
        "schedule": schedule,
        "deliver": list(review.deliver),
        "formats": list(review.formats),
        "only_on_change": review.only_on_change,
    }
