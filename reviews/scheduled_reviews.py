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
from .panels import find_panel, project_settings
from .requests.files import request_for_sessions
from .requests.roots import last_revision, origin_of, scope_of
from .sources.document_facts import source_of
from .sources.files import FileSelection
from .sources.repository import Repository
from .values.runs import RunState, headline

_OUTCOMES = {
    RunState.COMPLETED: RunOutcome.COMPLETED,
    RunState.PARTIAL: RunOutcome.PARTIAL,
    RunState.CANCELLED: RunOutcome.CANCELLED,
    RunState.FAILED: RunOutcome.FAILED,
}


class ScheduledReview:
    """Scheduled reviews: one batch per run, with the run's id.

    Args:
        review_context: Function that returns the review context of this process.
        roots: Folders that may be reviewed, by name.
    """

    def __init__(self, review_context: Callable[[], ReviewContext], roots: Mapping[str, Path]) -> None:
        self._context = review_context
        self._roots = roots

    def start(self, schedule: Schedule, schedule_run: ScheduleRun) -> None:
        """Start the batch, unless it was started.

        Raises:
            InvalidInput: The root, the panel or a revision does not exist, or there is no archive.
            ArchiveUnavailable, RedisUnavailable: No review begins.
        """
        review, review_context = _review(schedule), self._context()
        order = (
            _of_sessions(review_context, review)
            if review.root is None
            else self._of_root(review_context, review)
        )
        start_batch(
            review_context,
            replace(order, batch_id=schedule_run.id, then=_delivery_options(review, schedule.name)),
        )

    def progress(self, schedule: Schedule, schedule_run: ScheduleRun) -> ScheduleRunProgress | None:
        """Return the progress of the batch.

        Raises:
            ArchiveUnavailable: The database does not answer.
        """
        review_context = self._context()
        try:
            view = review_context.store.view(schedule_run.id)
            if view.state == "opening":
                return None
            if not view.has_ended:
                return ScheduleRunProgress(usage=Usage(cost_micros=view.spent_cost_micros))
            run = read_run(review_context, schedule_run.id)
        except ReviewNotFound:
            return None
        outcome = _OUTCOMES.get(run.state, RunOutcome.FAILED)
        gate = None if schedule.review is None else schedule.review.fail_on
        if outcome is RunOutcome.COMPLETED and gate is not None and Gate.parse(gate).fails(run.findings):
            outcome = RunOutcome.FINDINGS
        return ScheduleRunProgress(outcome, run.usage, headline(run), view.ended_ms or 0)

    def cancel(self, _schedule: Schedule, schedule_run: ScheduleRun) -> None:
        """Cancel the batch, and keep the findings so far."""
        try:
            stop_batch(self._context(), schedule_run.id, RunState.CANCELLED, "a newer run was due")
        except ReviewNotFound:
            return

    def _of_root(self, review_context: ReviewContext, review: ReviewAction) -> ReviewRequest:
        name = review.root or ""
        root = self._roots.get(name)
        if root is None:
            known = ", ".join(sorted(self._roots)) or "there is none"
            raise InvalidInput("root", name, f"must be a root of SYMPOSIA_REVIEW_ROOTS: {known}")
        repository, since = Repository.find(root), None
        branch = "" if repository is None else repository.branch()
        panel = find_panel(review.panel).with_model(review.model)
        chosen = FileSelection(include=review.include, exclude=review.exclude, base=review.base)
        scope = scope_of(chosen, panel, branch=branch)
        if review.since_last:
            archive = review_context.archive
            since = last_revision(repository, root=name, panel=panel.name, scope=scope, archive=archive)
            chosen = replace(chosen, since=since)
        return ReviewRequest(
            root_name=name,
            panel=panel,
            source=source_of(root, chosen, panel),
            settings=project_settings(panel, root),
            folder=root,
            is_whole=not (review.include or review.exclude or since or review.base),
            branch=branch,
            scope=scope,
            against=review.against or "",
            **origin_of(repository),
        )


def _of_sessions(review_context: ReviewContext, review: ReviewAction) -> ReviewRequest:
    chosen = review.sessions or SessionSelection()
    return request_for_sessions(
        archive=review_context.archive,
        panel=review.panel,
        model=review.model,
        tag=chosen.tag,
        participant=chosen.participant,
        newest=chosen.newest,
    )


def _review(schedule: Schedule) -> ReviewAction:
    assert schedule.review is not None  # noqa: S101 - a schedule without one names a job
    return schedule.review


def _delivery_options(review: ReviewAction, schedule: str) -> dict[str, JsonValue]:
    """Return the options of the report's delivery, as names of the workers' settings."""
    return {
        "schedule": schedule,
        "deliver": list(review.deliver),
        "formats": list(review.formats),
        "only_on_change": review.only_on_change,
    }
