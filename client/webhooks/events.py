"""Events of sessions and reviews: which webhooks get them, and what they say.

An event is queued before the session leaves the due index, and before the run of a review ends. So if the process dies
in between, the sweep finds the session, or the batch, and queues the event again under the same id.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ...models.errors import CorruptSession, RedisUnavailable
from ...models.protocol.collab import CollabStatus
from ...models.text.ids import derived_id, format_timestamp, moment_from_ms
from ...state.webhooks import WebhookStore
from .webhooks_file import EventType, WebhooksConfig

if TYPE_CHECKING:
    from ...reviews.values.runs import ReviewRun
    from ...state.sessions.records import SessionState
    from ...tasks.views.session_views import SessionFacts

log = logging.getLogger(__name__)

#: Seconds for which no command is sent after Redis has not answered: each waits until its time limit, and a sweep has many
#: sessions, whose own keys may be at servers that answer.
_PAUSE_S = 5.0
#: Milliseconds after which the sweep reports a question no more: the record of its delivery expires later.
_REPORTED_MS = 86_400_000


def event_body(event: EventType, at_ms: int, data: dict[str, Any]) -> str:
    """Return the JSON of an event, in the form that Standard Webhooks recommends."""
    at = format_timestamp(moment_from_ms(at_ms))
    return json.dumps({"type": event.value, "timestamp": at, "data": data}, ensure_ascii=False)


class WebhookEvents:
    """Queueing of events for the webhooks of a process. Without a webhook, no method sends a command.

    `config` returns the current webhooks; `fault_hook` is called before an event is queued.
    """

    def __init__(
        self,
        config: Callable[[], WebhooksConfig],
        store: WebhookStore,
        *,
        fault_hook: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._config = config
        self._store = store
        self._fault_hook = fault_hook
        self._unavailable: RedisUnavailable | None = None
        self._not_before_s = 0.0

    @property
    def has_questions(self) -> bool:
        """Whether a webhook gets questions."""
        return EventType.QUESTION_ASKED in self._config().events

    def ended(self, facts: SessionFacts, state: SessionState) -> None:
        """Queue the end of a session. Raises RedisUnavailable."""
        if not self._config().events:
            return
        events = [EventType.SESSION_ENDED]
        if state.status is CollabStatus.CANCELLED and state.actor is None:  # not by a user
            events.append(EventType.SESSION_FAILED)
        data = {
            **_session(facts),
            "status": state.status.value,
            "reason": state.reason,
            "detail": state.detail,
            "mode": facts.collab.mode.value,
            "turns": state.closed,
            "usage": state.usage.to_json_data(),
        }
        at_ms = state.ended_ms or state.now_ms
        for event in events:
            self._queue(event, facts, at_ms, data, identity=())

    def asked(self, facts: SessionFacts, state: SessionState, number: int) -> None:
        """Queue the question of a parked turn, if people may answer it. Raises RedisUnavailable."""
        from ...tasks.waiting.parked_turn import read_question
        from ...tasks.waiting.parking import question_data

        if not self.has_questions:
            return
        try:
            parked = read_question(facts, state, number)
        except CorruptSession as error:
            log.error("question of turn %s is not sent to webhooks: %s", number, error)
            return
        if parked is None or not parked.waiting.is_for_people or not parked.waiting.asked:
            return
        at_ms, until_ms = parked.parking.parked_ms, parked.parking.until_ms
        if state.now_ms - at_ms > _REPORTED_MS:
            return
        data = {
            **_session(facts),
            "turn_number": number,
            "participant": parked.record.participant,
            **question_data(parked.waiting),
            "until": None if until_ms is None else format_timestamp(moment_from_ms(until_ms)),
        }
        self._queue(EventType.QUESTION_ASKED, facts, at_ms, data, identity=(number, at_ms))

    def _queue(
        self,
        event: EventType,
        facts: SessionFacts,
        at_ms: int,
        data: dict[str, Any],
        *,
        identity: Iterable[int],
    ) -> None:
        names = self._config().receivers(event, facts.spec.tenant)
        if names:
            # An id of a session may be used again after its keys have expired.
            whole = (facts.session_id, facts.opened_ms, *identity)
            self._add(names, event, facts.session_id, event_body(event, at_ms, data), whole)

    def review_ended(self, run: ReviewRun) -> None:
        """Queue the end of a review. Raises RedisUnavailable."""
        from ...reviews.delivery.payload import summary_json

        names = self._config().receivers(EventType.REVIEW_ENDED, None)
        if names:
            summary = json.loads(summary_json(run))
            data = {
                name: value
                for name, value in summary.items()
                if name not in ("type", "findings", "findings_left_out")
            }
            ended = run.ended_at or run.started_at
            body = event_body(EventType.REVIEW_ENDED, int(ended.timestamp() * 1000), data)
            self._add(names, EventType.REVIEW_ENDED, run.id, body, (run.id, run.retries))

    def _add(
        self, names: Iterable[str], event: EventType, subject: str, body: str, identity: Iterable[object]
    ) -> None:
        self._fault_hook("before-queue")
        for name in names:
            delivery_id = derived_id("|".join(map(str, ("webhook", name, event.value, *identity))))
            word = self._queue_delivery(
                delivery_id, webhook=name, event=event.value, subject=subject, body=body
            )
            if word == "full":
                log.error(
                    "webhook %s: %s of %s is not sent: too many deliveries are waiting",
                    name,
                    event.value,
                    subject,
                )
        self._fault_hook("after-queue")

    def _queue_delivery(self, delivery_id: str, **delivery: str) -> str:
        if self._unavailable is not None and time.monotonic() < self._not_before_s:
            raise self._unavailable
        try:
            return self._store.add(delivery_id, **delivery)
        except RedisUnavailable as error:
            self._not_before_s = time.monotonic() + _PAUSE_S
            self._unavailable = RedisUnavailable(error.url, hint=error.hint)
            raise


def _session(facts: SessionFacts) -> dict[str, Any]:
    return {"collab_id": facts.session_id, "title": facts.collab.title, "tenant": facts.spec.tenant}
