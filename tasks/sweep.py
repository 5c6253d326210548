"""The sweep: what the queue lost, found again.

It runs in every worker, claims sessions whose time has come and re-enqueues what they are
owed. It never executes a turn, so a slow agent cannot stop it, and two sweeps at once do
no harm. This, not the broker, is why every session ends.

What still waits in the queue is not sent again, however long that is (`state/taken.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from ..models.errors import RedisUnavailable, SessionNotFound, SymposiaError
from ..state.records import Answer
from .advance import send
from .graph import BrokerAway
from .runtime import Runtime

log = logging.getLogger(__name__)

#: Sessions claimed at once.
BATCH = 100


def always_free() -> bool:
    """For a process that is no worker: it may send probes."""
    return True


def sweep(runtime: Runtime, *, is_free: Callable[[], bool] = always_free) -> int:
    """Looks at every session that is due now. Answers how many turns and steps were re-enqueued.

    `is_free`: whether this worker could run another task. One that is busy sends no probe: what waits in the queue may wait
    for it. Raises RedisUnavailable, BrokerAway: what was not looked at is claimed again after the grace time.
    """
    sent = 0
    while True:
        view = QueueView.now(runtime, is_free)
        claimed = runtime.index.claim(limit=BATCH, hold_ms=runtime.limits.grace_ms)
        for session_id in claimed:
            try:
                sent += sweep_session(runtime, session_id, view)
            except (RedisUnavailable, BrokerAway):
                raise
            except SymposiaError as error:
                log.error("session %s could not be swept: %s", session_id, error)
            except Exception:  # one session that cannot be read must not keep the others waiting
                log.exception("session %s could not be swept", session_id)
        if len(claimed) < BATCH:
            return sent


@dataclass(slots=True)
class QueueView:
    """The queue as one look of the sweep sees it."""

    runtime: Runtime
    #: When the newest message that workers have taken was sent.
    taken_ms: int
    is_free: Callable[[], bool]
    #: Milliseconds until another probe may be sent; 0: nobody has asked.
    wait_ms: int = 0

    @classmethod
    def now(cls, runtime: Runtime, is_free: Callable[[], bool] = always_free) -> Self:
        """The queue as it is. Raises RedisUnavailable."""
        return cls(runtime, runtime.taken.tell(), is_free)

    def owed(self, session_id: str) -> Answer:
        """What a session is owed, with a probe where one may be sent."""
        grace_ms = self.runtime.limits.grace_ms
        answer = self.runtime.store.sweep(session_id, grace_ms=grace_ms, taken_ms=self.taken_ms)
        if answer.held and not self.wait_ms:
            self.wait_ms = self.runtime.taken.probe(grace_ms=grace_ms) if self.is_free() else grace_ms
            if not self.wait_ms:
                log.info("session %s: no message was taken for a while; one is sent as a probe", session_id)
                self.wait_ms = max(grace_ms // 10, 1)
                return self.runtime.store.sweep(
                    session_id, grace_ms=grace_ms, taken_ms=self.taken_ms, probes=1
                )
        return answer

    def next_look_ms(self, answer: Answer) -> int | None:
        """When to look at the session again."""
        if answer.state is None or answer.due_ms is None or not answer.held:
            return answer.due_ms
        return min(answer.due_ms, answer.state.now_ms + self.wait_ms)


def sweep_session(runtime: Runtime, session_id: str, view: QueueView) -> int:
    """Looks at one session. Answers how many turns and steps were re-enqueued."""
    answer = view.owed(session_id)
    if answer.word == "ended":
        runtime.index.settle(session_id)
        return 0
    look_ms = view.next_look_ms(answer)
    if answer.state is None or look_ms is None:
        runtime.index.drop_orphan(session_id, runtime.index)
        return 0
    # The next look is set before anything is sent: dying in between costs one grace, not the session.
    runtime.index.look_at(session_id, look_ms)
    if not answer.numbers and not answer.advance:
        return 0
    try:
        facts = runtime.facts.of(session_id, answer.state)
    except SessionNotFound:
        return 0
    if answer.numbers:
        log.info("session %s: turns %s are dispatched again", session_id, list(answer.numbers))
        send(runtime.graph, facts, answer.state, answer.numbers)
    if answer.advance:
        log.info("session %s: its next step is asked for again", session_id)
        runtime.graph.send_advance(session_id, sent_ms=answer.state.now_ms)
    return len(answer.numbers) + answer.advance
