"""Scheduled reviews of the open pull requests of a repository: one batch for each whose newest commit is unreviewed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..models.errors import OtherCommit, SymposiaError
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
from .state.reviewed_pulls import MAX_ERROR, PullReview, PullsRun, ReviewedPulls
from .values.changes import ChangeDescription

log = logging.getLogger(__name__)

#: Maximum pull requests that one run reviews; the next run takes the others.
MAX_PULLS = 20
#: Maximum batches of one commit that fail; each may cost as much as a review.
MAX_FAILURES = 3
_LOST = ScheduleRunProgress(RunOutcome.FAILED, detail="its state has expired")
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
        reviews = self._start_batches(
            schedule, schedule_run, [(pull, earlier.get(pull.number)) for pull in due[:MAX_PULLS]], root
        )
        heads = {(review.number, review.head) for review in reviews}
        left = sum((pull.number, pull.head) not in heads for pull in due)
        context.pulls.save_run(schedule_run.id, PullsRun(reviews=tuple(reviews), left=left))
        failed = [entry for entry in reviews if entry.error]
        is_complete = len(listed) < MAX_OPEN
        closed = last.keys() - {pull.number for pull in listed} if is_complete else ()
        context.pulls.remember(series, failed, closed=closed)

    def _start_batches(
        self,
        schedule: Schedule,
        schedule_run: ScheduleRun,
        due: Sequence[tuple[OpenPull, PullReview | None]],
        root: Path,
    ) -> Collection[PullReview]:
        """Start the batches of pull requests, and return those of the run; `due` has earlier reviews of the same commit.

        Each is stored before it starts, because this start may be repeated after a failure. A batch of an older commit
        that this run has started stays in it.
        """
        pulls = self._context().pulls
        reviews = {review.number: review for review in (pulls.run(schedule_run.id) or PullsRun()).reviews}
        for pull, earlier in due:
            planned = _planned(schedule_run, pull, earlier)
            if reviews.setdefault(pull.number, planned).head != pull.head:
                continue
            pulls.save_run(schedule_run.id, PullsRun(reviews=tuple(reviews.values()), is_starting=True))
            try:
                reviews[pull.number] = self._start_batch(schedule, planned, pull, root, earlier)
            except OtherCommit as error:
                log.warning("schedule %s: %s is left for the next run: %s", schedule.name, pull.ref, error)
                del reviews[pull.number]
        return reviews.values()

    def _start_batch(
        self,
        schedule: Schedule,
        planned: PullReview,
        pull: OpenPull,
        root: Path,
        earlier: PullReview | None,
    ) -> PullReview:
        """Start the batch of a pull request. A failure that an `earlier` start of the commit had is not delivered again.

        Raises OtherCommit: the pull request was pushed after it was listed.
        """
        context, action, batch_id = self._context(), _action(schedule), planned.batch_id
        assert batch_id is not None  # noqa: S101 - as planned
        changes = {"pull_request": pull.number, "branch": pull.ref, "against": action.against or pull.ref}
        review = action.model_copy(update=changes)
        then = delivery_options(review, schedule.name)
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
            return planned
        except (OtherCommit, *UNSTARTED_ERRORS):
            raise
        except SymposiaError as error:
            reason = one_line(str(error))[:MAX_ERROR]
        except Exception as error:  # a defect must not stop the reviews of the others
            log.exception("schedule %s: starting the review of %s failed", schedule.name, pull.ref)
            reason = f"a defect: {type(error).__name__}"
        if earlier is not None and earlier.error == reason:
            return earlier.model_copy(update={"batch_id": None})
        record_failure(context, review, batch_id, reason, starter=starter, then=then)
        return planned.model_copy(update={"error": reason})

    def _describe(self, review: ReviewAction, pull: OpenPull, change: ChangeDescription) -> ChangeDescription:
        """Add title, description and linked issues of a pull request; if the host refuses the issues, none is added."""
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
        if run is None or run.is_starting:  # not started, or the pull requests could not be listed
            return self._reviews.progress(schedule, schedule_run)
        ends: dict[PullReview, ScheduleRunProgress] = {}
        for review in reversed(run.reviews):  # the last started ones run longest
            ends[review] = self._progress_of(schedule, schedule_run, review) or _LOST
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
    ) -> ScheduleRunProgress | None:
        if review.error:
            return ScheduleRunProgress(RunOutcome.FAILED, detail=review.error)
        return self._reviews.progress(schedule, schedule_run.model_copy(update={"id": review.batch_id}))

    def cancel(self, schedule: Schedule, schedule_run: ScheduleRun) -> None:
        """Cancel all batches, keep the findings so far, and remember the reviews that had ended."""
        pulls = self._context().pulls
        ended: list[PullReview | None] = []
        for review in (pulls.run(schedule_run.id) or PullsRun()).reviews:
            end = self._progress_of(schedule, schedule_run, review)
            if end is not None and end.outcome is not None:
                ended.append(_remembered(review, end))
            elif review.batch_id is not None:
                self._reviews.cancel(schedule, schedule_run.model_copy(update={"id": review.batch_id}))
        pulls.remember(_series(schedule), list(filter(None, ended)), closed=())


def forget_pull(pulls: ReviewedPulls, schedule: Schedule, number: int) -> None:
    """Let the next run of a schedule review a pull request again, although its commit is reviewed."""
    pulls.remember(_series(schedule), (), closed=(number,))


def _action(schedule: Schedule) -> ReviewAction:
    assert schedule.review is not None  # noqa: S101 - as its kind says
    return schedule.review


def _series(schedule: Schedule) -> str:
    """Return the key of what a schedule has reviewed: another panel or model reviews all again."""
    review = _action(schedule)
    names = (schedule.name, review.root, review.open_pull_requests, review.panel, review.model)
    return derived_id("|".join(str(name) for name in names))


def _planned(schedule_run: ScheduleRun, pull: OpenPull, earlier: PullReview | None) -> PullReview:
    """Return the review of a pull request in a run; `earlier`: the last one of the same commit."""
    return PullReview(
        number=pull.number,
        head=pull.head,
        batch_id=derived_id(f"{schedule_run.id}|{pull.number}|{pull.head}"),
        failures=0 if earlier is None else earlier.failures,
    )


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
