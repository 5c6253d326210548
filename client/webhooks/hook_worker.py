"""The work of incoming hooks, in threads of a worker: schedules that review pull requests are started, comments answered.

Work is claimed for a time: if the worker dies, another one does it again. A repeated review finds nothing new, and a
comment is answered once (`reviews/delivery/hosts/replies.py`).
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from ...models.errors import InvalidInput, ScheduleNotFound, SymposiaError
from ...models.text.redact import one_line
from ...reviews.delivery.hosts.replies import ReplyAction, ReplyResult
from ...reviews.scheduled_pulls import forget_pull
from ...reviews.state.reviewed_pulls import ReviewedPulls
from ...schedules.schedules import Schedules
from ...state.hooks import TTL_MS, HookQueue, HookWork
from .call_threads import CallThreads
from .webhooks_file import HookEntry, WebhooksConfig

log = logging.getLogger(__name__)

#: Maximum number of parallel calls of a process, and of those of one hook.
_MAX_CALLS, _MAX_CALLS_OF_ONE = 4, 2
#: Maximum seconds until a model answers a comment, and milliseconds of a claim, which is longer.
_ANSWER_S, HOLD_MS = 300, 600_000
#: Milliseconds before the first retry, which then come after as long as the event is old, and the maximum.
_FIRST_DELAY_MS, _MAX_DELAY_MS = 10_000, 3_600_000
#: Milliseconds until work is checked again whose hook has no free call.
_BUSY_MS = 1_000
#: Milliseconds until a review that is asked for again is checked, while the schedule runs.
_RUNNING_MS = 60_000


class HookClient(Protocol):
    """What the work needs of `Client`."""

    @property
    def schedules(self) -> Schedules:
        """Schedules: sessions and reviews at set times."""
        ...

    def reply_to_review_comment(
        self, event: Mapping[str, Any], *, deliver: str, model: str | None = None, timeout_s: float = 300
    ) -> ReplyResult:
        """Do what a new comment on a pull request asks for."""
        ...


class HookWorker:
    """The work of hooks in one process.

    Args:
        client: Returns the client of the installation; called when there is work.
        pulls: The reviewed pull requests.
        config: Returns the current hooks.
        queue: The work.
        hold_ms: Milliseconds for which work is claimed.
    """

    def __init__(
        self,
        client: Callable[[], HookClient],
        pulls: ReviewedPulls,
        config: Callable[[], WebhooksConfig],
        queue: HookQueue,
        *,
        hold_ms: int = HOLD_MS,
    ) -> None:
        self._client = client
        self._pulls = pulls
        self._config = config
        self._queue = queue
        self._hold_ms = hold_ms
        self._calls = CallThreads("symposia-hook", most=_MAX_CALLS, most_of_one=_MAX_CALLS_OF_ONE)

    def sweep(self) -> int:
        """Start what is due; return how much. Without a hook, no command is sent. Raises RedisUnavailable."""
        free = self._calls.free
        if not self._config().hooks or not free:
            return 0
        claimed = self._queue.claim(limit=free, hold_ms=self._hold_ms)
        for member in claimed:
            work, at = HookWork.parse(member), self._queue.time_of(member)
            if at is None:
                continue
            if work is None:
                self._queue.drop(member, at)
            elif not self._calls.start(work.hook, partial(self._run, work, at)):
                self._queue.postpone(work, _BUSY_MS)
        return len(claimed)

    def _run(self, work: HookWork, claimed: float) -> None:
        try:
            self.process(work, claimed)
        except SymposiaError as error:
            log.warning("hook %s: work is not done, will retry: %s", work.hook, error)
        except Exception:  # the claim ends, and it is tried again until it expires
            log.exception("hook %s: unexpected error, will retry", work.hook)

    def process(self, work: HookWork, claimed: float) -> None:
        """Do some work, and remove it. `claimed`: its time when it was claimed. Raises RedisUnavailable."""
        entry = self._config().hooks.get(work.hook)
        try:
            if entry is None:
                raise InvalidInput("hook", work.hook, "must be a hook of the webhooks file")
            if work.kind == "review":
                self._review(entry)
            elif not self._answer(work, entry):
                return
        except (InvalidInput, ScheduleNotFound) as error:
            log.error("hook %s: %s is not done: %s", work.hook, work.kind, error)
        self._queue.finish(work, claimed)

    def _review(self, entry: HookEntry) -> None:
        """Start the schedule, unless a run of it is queued: that one will list the newest commits, too."""
        schedules = self._client().schedules
        schedule = schedules.get(entry.review or "")
        review = schedule.schedule.review
        if review is None or review.open_pull_requests is None:
            raise InvalidInput("review", entry.review, "must be a schedule that reviews open pull requests")
        if not schedule.queued:
            schedules.run_now(schedule.schedule.name)

    def _answer(self, work: HookWork, entry: HookEntry) -> bool:
        """Answer a comment; return whether it is over. Raises InvalidInput, RedisUnavailable."""
        stored = self._queue.data(work)
        if stored is None or entry.deliver is None:
            return True
        data = json.loads(stored)
        try:
            result = self._client().reply_to_review_comment(
                data["event"], deliver=entry.deliver, model=entry.model, timeout_s=_ANSWER_S
            )
        except InvalidInput:
            raise
        except (SymposiaError, TimeoutError) as error:
            age_ms = int(time.time() * 1000) - data["received_ms"]
            delay_ms = min(max(age_ms, _FIRST_DELAY_MS), _MAX_DELAY_MS)
            if age_ms + delay_ms > TTL_MS:
                log.error("hook %s: comment is not answered, giving up: %s", work.hook, error)
                return True
            log.warning(
                "hook %s: comment is not answered, retrying in %d s: %s",
                *(work.hook, delay_ms // 1000, one_line(str(error))),
            )
            self._queue.postpone(work, delay_ms)
            return False
        log.info("hook %s: comment on pull request %d: %s", work.hook, result.pull_request, result.action)
        if result.action is ReplyAction.REVIEW and entry.review is not None:
            return self._review_again(work, entry.review, result.pull_request)
        return True

    def _review_again(self, work: HookWork, name: str, number: int) -> bool:
        """Let a schedule review a pull request once more; return whether that is queued."""
        schedule = self._client().schedules.get(name)
        if schedule.running is not None:  # at its end, it records what it has reviewed
            self._queue.postpone(work, _RUNNING_MS)
            return False
        forget_pull(self._pulls, schedule.schedule, number)
        self._queue.add_now(HookWork("review", work.hook))
        return True
