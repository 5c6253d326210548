"""What workers have to do with schedules: who sees to them, and a thread that looks for what got lost."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from celery import Celery

from ..config.settings import Settings
from ..models.collab import CollabStatus
from ..models.errors import InvalidInput, LifecycleError, SessionConflict, SessionNotFound
from ..models.ids import timestamp_from_ms
from ..models.schedules.occurrences import Occurrence, Outcome, Progress
from ..models.schedules.schedule import Schedule
from ..reviews.occurrence import Keeper
from ..reviews.office import office_of
from ..reviews.schedule_tasks import sweep_schedules
from ..reviews.scheduled import ScheduledReview
from ..state.connect import connect
from ..state.records import SessionState
from ..state.schedules import ScheduleBook
from .rounds import RoundStep, RoundThread
from .session_file import SessionFile

if TYPE_CHECKING:
    from ..client import Client

#: Reasons of a session that was cancelled because it failed, or because a limit was met before any turn was completed.
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
    """A job of the settings: a session file, submitted once for each occurrence, under its id.

    Its agents are given the parameters `schedule` and `due`, next to those of the file.
    """

    def __init__(self, settings: Settings, app: Celery) -> None:
        self._settings = settings
        self._app = app

    @cached_property
    def _client(self) -> Client:
        from ..client import Client

        return Client(self._settings, app=self._app)

    def start(self, schedule: Schedule, occurrence: Occurrence) -> None:
        """Submits the session, unless it was. Raises InvalidInput for what is wrong with the job."""
        path = self._settings.jobs.get(str(schedule.job))
        if path is None:
            known = ", ".join(sorted(self._settings.jobs)) or "none"
            raise InvalidInput("job", schedule.job, f"must be a job of SYMPOSIA_JOBS: {known}")
        source = SessionFile.open(str(path))
        told = {"schedule": schedule.name, "due": timestamp_from_ms(occurrence.due_ms)}
        with source.blamed():
            asked = source.submission()
            collab = asked.collab.changed(collab_id=occurrence.id)
            try:
                self._client.submit_all(
                    replace(asked, collab=collab, parameters={**asked.parameters, **told})
                )
            except SessionConflict:
                return  # it was begun, and the file changed since

    def progress(self, _schedule: Schedule, occurrence: Occurrence) -> Progress | None:
        """How far the session is."""
        try:
            state = self._client.get_job(occurrence.id).state()
        except SessionNotFound:
            return None
        return Progress(_outcome(state), state.usage, state.detail or state.reason or "", state.ended_ms or 0)

    def cancel(self, _schedule: Schedule, occurrence: Occurrence) -> None:
        """Cancels the session, unless it has ended."""
        try:
            self._client.get_job(occurrence.id).cancel("overtaken")
        except (LifecycleError, SessionNotFound):
            return


def _outcome(state: SessionState) -> Outcome | None:
    if state.status is CollabStatus.COMPLETED:
        return Outcome.COMPLETED
    if state.status is CollabStatus.CANCELLED:
        return Outcome.FAILED if state.reason in _FAILURES else Outcome.CANCELLED
    return None


def build_keeper(app: Celery, settings: Settings, *, redis_url: str) -> Keeper:
    """Who sees to schedules in a worker. Connects lazily."""
    return Keeper(
        ScheduleBook(connect(redis_url)),
        {
            "job": ScheduledSession(settings, app),
            "review": ScheduledReview(partial(office_of, app), settings.review_roots),
        },
        grace_ms=int(settings.redispatch_after_s * 1000),
        lease_ms=int(settings.lease_s * 1000),
    )


class ScheduleStep(RoundStep):
    """Sends word of schedules that no beat sent word of, as long as the worker runs."""

    what = "schedules"

    def rounds(self, worker: Any) -> RoundThread:
        """Looks for them."""
        return self.every_sweep(worker, lambda: sweep_schedules(worker.app))
