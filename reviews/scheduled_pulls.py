"""Scheduled reviews of the open pull requests of a repository: one batch for each whose newest commit is unreviewed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ..models.errors import SymposiaError
from ..models.text.ids import derived_id
from ..models.text.redact import one_line
from ..models.turns.turn import Usage
from ..schedules.schedule import ReviewAction, RunOutcome, Schedule, ScheduleRun, ScheduleRunProgress
from .batches.context import ReviewContext
from .batches.start import start_batch
from .delivery.destinations import Destinations
from .delivery.hosts.open_pulls import MAX_OPEN, OpenPull
from .scheduled_reviews import (
    UNSTARTED_ERRORS,
    ScheduledReview,
    delivery_options,
    record_failure,
    request_for_folder,
)
from .sources.fetching import check_out_pull
from .state.reviewed_pulls import MAX_ERROR, PullReview, PullsRun
from .values.changes import ChangeDescription

log = logging.getLogger(__name__)

#: Maximum pull requests that one run reviews; the next run takes the others.
MAX_PULLS = 20
#: Maximum batches of one commit that fail; each may cost as much as a review.
MAX_FAILURES = 3
_REVIEWED = (RunOutcome.COMPLETED, RunOutcome.FINDINGS, RunOutcome.PARTIAL)


class ScheduledPulls:
    """Scheduled reviews of open pull requests.

    Args:
        context: Function that returns the review context of this process.
        reviews: Scheduled reviews of single batches.
        hosts: Function that returns the destinations, which name code hosts and their tokens.
    """

    def __init__(
        self,
        context: Callable[[], ReviewContext],
        reviews: ScheduledReview,
        hosts: Callable[[], Destinations],
    ) -> None:
        self._context = context
        self._reviews = reviews
        self._hosts = hosts

    def start(self, schedule: Schedule, schedule_run: ScheduleRun) -> None:
        """Start a batch for each pull request; one that cannot start is a failed batch, which is delivered.

        Raises:
            ArchiveUnavailable, RedisUnavailable: The call is repeated.
        """
        review, context, series = _action(schedule), self._context(), _series(schedule)
        try:
            root = self._reviews.root_of(review)
            listed = self._hosts().list_open_pulls(review.open_pull_requests or "")
        except SymposiaError as error:
            then = delivery_options(review, schedule.name)
            starter = context.store.claim_start(schedule_run.id)
            record_failure(context, review, schedule_run.id, str(error), starter=starter, then=then)
            return
        last = context.pulls.last(series)
        earlier = {
            pull.number: before
            for pull in listed
            if (before := last.get(pull.number)) is not None and before.head == pull.head
        }
        due = [pull for pull in listed if pull.is_ready and not _is_reviewed(earlier.get(pull.number))]
        due.sort(key=lambda pull: pull.number in earlier)  # those that failed come last
        reviews = [
            self._start_batch(schedule, schedule_run, pull, root, earlier.get(pull.number))
            for pull in due[:MAX_PULLS]
        ]
        context.pulls.save_run(
            schedule_run.id, PullsRun(reviews=tuple(reviews), left=len(due) - len(reviews))
        )
        failed = [entry for entry in reviews if entry.error]
        is_complete = len(listed) < MAX_OPEN
        closed = last.keys() - {pull.number for pull in listed} if is_complete else ()
        context.pulls.remember(series, failed, closed=closed)

    def _start_batch(
        self,
        schedule: Schedule,
        schedule_run: ScheduleRun,
        pull: OpenPull,
        root: Path,
        earlier: PullReview | None,
    ) -> PullReview:
        """Start the batch of a pull request. A failure that an `earlier` start of the commit had is not delivered again."""
        context, action = self._context(), _action(schedule)
        changes = {"pull_request": pull.number, "branch": pull.ref, "against": action.against or pull.ref}
        review = action.model_copy(update=changes)
        then = delivery_options(review, schedule.name)
        batch_id = derived_id(f"{schedule_run.id}|{pull.number}|{pull.head}")
        failures = 0 if earlier is None else earlier.failures
        started = PullReview(number=pull.number, head=pull.head, batch_id=batch_id, failures=failures)
        starter = context.store.claim_start(batch_id)
        try:
            with check_out_pull(
                root, ref=pull.ref, head=pull.head, base=pull.base, token=self._reviews.git_token()
            ) as tree:
                of_change = review.model_copy(update={"base": tree.base})
                order = request_for_folder(context, of_change, tree.folder)
                change = self._describe(review, pull, order.change or ChangeDescription())
                order = replace(order, change=change, batch_id=batch_id, then=then)
                start_batch(context, order, starter=starter)
            return started
        except UNSTARTED_ERRORS:
            raise
        except SymposiaError as error:
            reason = one_line(str(error))[:MAX_ERROR]
        except Exception as error:  # a defect must not stop the reviews of the others
            log.exception("schedule %s: starting the review of %s failed", schedule.name, pull.ref)
            reason = f"a defect: {type(error).__name__}"
        if earlier is not None and earlier.error == reason:
            return earlier.model_copy(update={"batch_id": None})
        record_failure(context, review, batch_id, reason, starter=starter, then=then)
        return started.model_copy(update={"error": reason})

    def _describe(self, review: ReviewAction, pull: OpenPull, change: ChangeDescription) -> ChangeDescription:
        """Add what the host says of a pull request; without its issues, it is reviewed without them."""
        text = {"title": pull.title, "description": pull.description}
        try:
            issues = tuple(self._hosts().linked_issues(review.open_pull_requests or "", pull.number))
        except SymposiaError as error:
            log.warning("reading the linked issues of %s failed: %s", pull.ref, error)
            issues = ()
        return change.model_copy(update={**text, "issues": issues})

    def progress(self, schedule: Schedule, schedule_run: ScheduleRun) -> ScheduleRunProgress | None:
        """Return the progress of all batches; when they have ended, remember what they reviewed."""
        context = self._context()
        run = context.pulls.run(schedule_run.id)
        if run is None:  # not started, or the pull requests could not be listed
            return self._reviews.progress(schedule, schedule_run)
        ends: dict[PullReview, ScheduleRunProgress] = {}
        for review in reversed(run.reviews):  # the last started ones run longest
            ends[review] = self._progress_of(schedule, schedule_run, review)
            if ends[review].outcome is None:
                return ScheduleRunProgress()
        ended = [_remembered(review, end) for review, end in ends.items()]
        context.pulls.remember(_series(schedule), list(filter(None, ended)), closed=())
        return ScheduleRunProgress(
            _outcome([end.outcome for end in ends.values()]),
            sum((end.usage for end in ends.values()), start=Usage()),
            _detail(run, ends),
            max((end.ended_ms for end in ends.values()), default=0),
        )

    def _progress_of(
        self, schedule: Schedule, schedule_run: ScheduleRun, review: PullReview
    ) -> ScheduleRunProgress:
        if review.error:
            return ScheduleRunProgress(RunOutcome.FAILED, detail=review.error)
        batch = schedule_run.model_copy(update={"id": review.batch_id})
        lost = ScheduleRunProgress(RunOutcome.FAILED, detail="its state has expired")
        return self._reviews.progress(schedule, batch) or lost

    def cancel(self, schedule: Schedule, schedule_run: ScheduleRun) -> None:
        """Cancel all batches, and keep the findings so far."""
        run = self._context().pulls.run(schedule_run.id) or PullsRun()
        for review in run.reviews:
            if review.batch_id is not None:
                self._reviews.cancel(schedule, schedule_run.model_copy(update={"id": review.batch_id}))


def _action(schedule: Schedule) -> ReviewAction:
    assert schedule.review is not None  # noqa: S101 - as its kind says
    return schedule.review


def _series(schedule: Schedule) -> str:
    """Return the key of what a schedule has reviewed: another panel or model reviews all again."""
    review = _action(schedule)
    names = (schedule.name, review.root, review.open_pull_requests, review.panel, review.model)
    return derived_id("|".join(str(name) for name in names))


def _is_reviewed(earlier: PullReview | None) -> bool:
    """Return whether the commit of a pull request needs no review; `earlier`: its last one."""
    return earlier is not None and (not earlier.error or earlier.failures >= MAX_FAILURES)


def _remembered(review: PullReview, end: ScheduleRunProgress) -> PullReview | None:
    """Return what is remembered of an ended review; None: the next run repeats it."""
    if end.outcome in _REVIEWED or review.error:
        return review
    if end.outcome is RunOutcome.CANCELLED:
        return None
    failure = {"error": one_line(end.detail)[:MAX_ERROR] or "failed", "failures": review.failures + 1}
    return review.model_copy(update=failure)


def _outcome(outcomes: Iterable[RunOutcome | None]) -> RunOutcome:
    """Return the outcome of a run by those of its batches."""
    given = set(outcomes)
    if given == {RunOutcome.FAILED}:
        return RunOutcome.FAILED
    if given - {RunOutcome.COMPLETED, RunOutcome.FINDINGS}:
        return RunOutcome.PARTIAL
    return RunOutcome.FINDINGS if RunOutcome.FINDINGS in given else RunOutcome.COMPLETED


def _detail(run: PullsRun, ends: Mapping[PullReview, ScheduleRunProgress]) -> str:
    """Return one line: the number of pull requests by outcome, and why some were not reviewed."""
    counts = Counter(end.outcome for end in ends.values())
    parts = [f"{counts[outcome]} {outcome}" for outcome in RunOutcome if counts[outcome]]
    parts += [f"{run.left} left for the next run"] if run.left else []
    failures = [
        f"{review.number}: {end.detail}" for review, end in ends.items() if end.outcome not in _REVIEWED
    ]
    return f"pull requests: {'; '.join([', '.join(parts) or 'none is new', *failures])}"
