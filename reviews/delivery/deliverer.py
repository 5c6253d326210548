"""Delivery of reports: queueing at the end of a run, attempts and retries.

A delivery stays queued in Redis until it succeeds or has failed finally; a Celery message is a hint. If a
worker dies during a delivery, the delivery is retried, so a report may arrive twice, with the same id.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

from pydantic import ValidationError

from ...models.errors import (
    DeliveryFailed,
    InvalidInput,
    RedisUnavailable,
    ReviewNotFound,
    SymposiaError,
    invalid_input,
)
from ..reports.formats import ReportFile, format_of, report_files
from ..state.queues import DeliveryQueue
from ..state.records import BatchHead
from ..values.runs import DeliveryJob, DeliveryRequest, ReviewRun, RunState
from .destinations import Destinations
from .hosts.publish import Decisions
from .payload import ReportPayload, has_changes

log = logging.getLogger(__name__)

#: Milliseconds before the first retry, and the maximum between retries.
FIRST_DELAY_MS, MAX_DELAY_MS = 10_000, 3_600_000
#: Milliseconds for which a delivery is claimed.
HOLD_MS = 900_000
#: Number of deliveries that a sweep claims at once.
_SWEEP_LIMIT = 100


class Deliverer:
    """Deliverer of reports.

    Args:
        deliveries: Function that returns the destinations, called on first use: without deliveries no file is
            needed.
        index: The delivery queue.
        decisions: Decisions of people about findings.
        read_run: Function that returns the run of an id. Raises ReviewNotFound.
        transcript: Function that returns the dialogue document of a session id.
    """

    def __init__(
        self,
        deliveries: Callable[[], Destinations],
        index: DeliveryQueue,
        decisions: Decisions,
        *,
        read_run: Callable[[str], ReviewRun],
        transcript: Callable[[str], str] | None = None,
    ) -> None:
        self.index = index
        self._decisions = decisions
        self._deliveries = deliveries
        self._read_run = read_run
        self._transcript = transcript

    def destinations(self) -> Destinations:
        """Return the current destinations. Raises InvalidInput: their file breaks a rule."""
        return self._deliveries()

    def problems(self) -> Iterator[str]:
        """Yield the problems that would make deliveries fail on this machine, one line each."""
        try:
            yield from self._deliveries().problems()
        except InvalidInput as error:
            yield str(error)

    def queue_deliveries(self, run: ReviewRun, head: BatchHead) -> None:
        """Queue the deliveries of an ended run; a repeated call changes nothing. Raises RedisUnavailable."""
        try:
            wishes = DeliveryRequest.model_validate(head.then)
        except ValidationError as error:
            log.error(
                "review %s: invalid delivery options, not delivering the report: %s",
                run.id,
                invalid_input(error, "then"),
            )
            return
        if wishes.only_on_change and not has_changes(run):
            return
        names = dict.fromkeys(wishes.deliver)
        self.index.add_deliveries(
            [
                DeliveryJob(
                    run=run.id,
                    to=name,
                    formats=wishes.formats,
                    pull_request=wishes.pull_request,
                    retry=run.retries,
                )
                for name in names
            ]
        )

    def deliver(self, job: DeliveryJob) -> None:
        """Attempt a queued delivery; do nothing if it is no longer queued.

        Raises:
            ArchiveUnavailable, RedisUnavailable: The delivery is retried later.
        """
        if not self.index.has(job):
            return
        try:
            run = self._read_run(job.run)
            if (
                run.state is RunState.RUNNING
            ):  # deliveries are queued shortly before other processes see the end of the run
                self.index.retry_soon(job)
                return
            self._send_reports(job, run)
        except DeliveryFailed as error:
            self._failed(job, error)
        except (InvalidInput, ReviewNotFound) as error:
            self._give_up(job, str(error))
        else:
            log.info("delivered review %s to %s", job.run, job.to)
            self.index.remove_delivery(job)

    def _send_reports(self, job: DeliveryJob, run: ReviewRun) -> None:
        deliveries = self._deliveries()
        deliveries.check([job.to])
        reports = self._render(job, run)
        payload = ReportPayload(run, reports, job.pull_request, job.retry)
        try:
            deliveries.deliver(job.to, payload, decisions=self._decisions)
        except (DeliveryFailed, InvalidInput, RedisUnavailable):
            raise
        except Exception as error:  # a failed attempt like others: otherwise it would be repeated forever
            log.exception("unexpected error in the delivery of review %s to %s", run.id, job.to)
            raise DeliveryFailed(f"unexpected {type(error).__name__}") from error

    def _render(self, job: DeliveryJob, run: ReviewRun) -> Sequence[ReportFile]:
        """Return the reports. Errors of the services that hold transcripts pass: they do not count as attempts."""
        try:
            return tuple(report_files(run, map(format_of, job.formats), transcript=self._transcript))
        except (SymposiaError, OSError):
            raise
        except Exception as error:
            log.exception("unexpected error in the reports of review %s", run.id)
            raise DeliveryFailed(f"unexpected {type(error).__name__} in its reports") from error

    def _failed(self, job: DeliveryJob, error: DeliveryFailed) -> None:
        if not error.retryable or job.failed + 1 >= self._deliveries().entry(job.to).attempts:
            self._give_up(job, str(error))
            return
        delay_ms = FIRST_DELAY_MS * 2 ** min(job.failed, 20)
        asked_ms = int((error.retry_after_s or 0) * 1000)
        delay_ms = min(max(delay_ms, asked_ms), MAX_DELAY_MS)
        log.warning(
            "delivery of review %s to %s failed, retrying in %d s: %s",
            job.run,
            job.to,
            delay_ms // 1000,
            error,
        )
        self.index.retry_later(job, delay_ms=delay_ms)

    def _give_up(self, job: DeliveryJob, why: str) -> None:
        log.error("delivery of review %s to %s failed, giving up: %s", job.run, job.to, why)
        self.index.give_up(job, why)


def sweep_deliveries(index: DeliveryQueue, send: Callable[[DeliveryJob], None]) -> int:
    """Send a message for every due delivery; return their number. Raises what `send` raises."""
    sent = 0
    while True:
        claimed = index.claim(limit=_SWEEP_LIMIT, hold_ms=HOLD_MS)
        for text in claimed:
            if (job := index.read(text)) is not None:
                send(job)
        sent += len(claimed)
        if len(claimed) < _SWEEP_LIMIT:
            return sent
