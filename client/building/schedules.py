"""Builder of the schedule runner, with scheduled sessions and reviews."""

from __future__ import annotations

from functools import cached_property, partial

from celery import Celery

from ...config.settings import Settings, read_variable
from ...jobs.session_file import SessionFile
from ...models.errors import InvalidInput, LifecycleError, SessionConflict, SessionNotFound
from ...models.protocol.collab import CollabStatus
from ...models.text.ids import timestamp_from_ms
from ...reviews.batches.context import review_context_of
from ...reviews.celery_tasks import deliverer_of
from ...reviews.scheduled_pulls import ScheduledPulls
from ...reviews.scheduled_reviews import ScheduledReview
from ...schedules.runner import ScheduleRunner
from ...schedules.schedule import RunOutcome, Schedule, ScheduleRun, ScheduleRunProgress
from ...schedules.store import ScheduleStore
from ...state.redis.connect import connect
from ...state.sessions.records import SessionState
from .sessions import Sessions

#: Variable with a token that may read the repositories of the review roots.
GIT_TOKEN_VARIABLE = "GIT_READ_TOKEN"  # noqa: S105 - a name
#: Reasons of cancelled sessions that count as failed: errors, and limits reached before a turn was completed.
_FAILURES = {
    "all_turns_failed",
    "cost_budget",
    "deadline",
    "failed",
    "no_answer",
    "tenant_budget",
    "token_budget",
}


class ScheduledSession:
    """A job of the settings: a session file that is submitted once per schedule run, with the run's id.

    Its agents get the parameters `schedule` and `due`, in addition to those of the file.
    """

    def __init__(self, settings: Settings, app: Celery) -> None:
        self._settings = settings
        self._app = app

    @cached_property
    def _sessions(self) -> Sessions:
        return Sessions(self._settings, lambda: self._app)

    def start(self, schedule: Schedule, schedule_run: ScheduleRun) -> None:
        """Submit the session, unless it is already submitted. Raises InvalidInput for an invalid job."""
        path = self._settings.jobs.get(str(schedule.job))
        if path is None:
            names = ", ".join(sorted(self._settings.jobs)) or "none"
            raise InvalidInput("job", schedule.job, f"must be a job of SYMPOSIA_JOBS (known: {names})")
        source = SessionFile.open(str(path), root=self._settings.session_root)
        run_parameters = {"schedule": schedule.name, "due": timestamp_from_ms(schedule_run.due_ms)}
        with source.name_file_in_errors():
            asked = source.submission()
            collab = asked.collab.changed(collab_id=schedule_run.id)
            try:
                changes = {"collab": collab, "parameters": {**asked.parameters, **run_parameters}}
                self._sessions.submit(asked.model_copy(update=changes))
            except SessionConflict:
                return  # already submitted, and the file has changed since

    def progress(self, _schedule: Schedule, schedule_run: ScheduleRun) -> ScheduleRunProgress | None:
        """Return the progress of the session."""
        try:
            state = self._sessions.get(schedule_run.id).state()
        except SessionNotFound:
            return None
        return ScheduleRunProgress(
            _outcome(state), state.usage, state.detail or state.reason or "", state.ended_ms or 0
        )

    def cancel(self, _schedule: Schedule, schedule_run: ScheduleRun) -> None:
        """Cancel the session, unless it has ended."""
        try:
            self._sessions.get(schedule_run.id).cancel("a newer run was due", by="schedule")
        except (LifecycleError, SessionNotFound):
            return


def _outcome(state: SessionState) -> RunOutcome | None:
    if state.status is CollabStatus.COMPLETED:
        return RunOutcome.COMPLETED
    if state.status is CollabStatus.CANCELLED:
        return RunOutcome.FAILED if state.reason in _FAILURES else RunOutcome.CANCELLED
    return None


def build_schedule_runner(app: Celery, settings: Settings, *, redis_url: str) -> ScheduleRunner:
    """Return the schedule runner of a worker. Connects lazily."""
    context = partial(review_context_of, app)
    reviews = ScheduledReview(
        context, settings.review_roots, git_token=partial(read_variable, GIT_TOKEN_VARIABLE)
    )
    return ScheduleRunner(
        ScheduleStore(connect(redis_url)),
        {
            "job": ScheduledSession(settings, app),
            "review": reviews,
            "pulls": ScheduledPulls(context, reviews, lambda: deliverer_of(app).destinations()),
        },
        grace_ms=int(settings.redispatch_after_s * 1000),
        lease_ms=int(settings.lease_s * 1000),
    )
