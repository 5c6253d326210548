"""The sweep of sessions: dispatch of due work whose messages were lost, and takeover of the turns of lost workers.

The sweep runs in every worker, claims due sessions and dispatches the work they wait for. It never executes a
turn, so a slow agent cannot block it. Two concurrent sweeps do no harm. The sweep, not the broker, guarantees
that every session ends. A message that still waits in the queue is not sent again, however long it waits
(`state/sessions/index.py`).

A lost process is one that was seen to end, or whose heartbeat has stopped; after a shutdown it works on no session. Its
sessions are checked like those whose messages were lost: messages that it had taken are sent again, too, before the
leases of its turns expire. A process that counts as lost and runs after all cannot write: its token is not accepted any
more.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from ...models.errors import CorruptSession, NewerFormat, RedisUnavailable, SessionNotFound, SymposiaError
from ...models.metrics import LOST_WORKERS, SWEEP_DISPATCHES, StuckReason
from ...models.protocol.collab import CollabStatus
from ...models.text.words import count_of
from ...state.log_context import log_context
from ...state.presence import WorkerPresence
from ...state.sessions.family import FamilyStore, ParentLink
from ...state.sessions.live_sessions import StuckSessions, stuck_reason
from ...state.sessions.records import ScriptAnswer, SessionState
from ...state.worker_leases import WorkerLeases
from ..planning.dispatch import send_turns
from ..runtime.graph import broker_error
from ..runtime.reporting import finish_session, report_question
from ..runtime.runtime import Runtime
from ..turns.admission import check_awaited_agents, find_newer_worker
from ..views.session_views import SessionFacts
from ..waiting.model_batches import cancel_batches
from ..waiting.subsessions.tree import follow_parent

log = logging.getLogger(__name__)

#: Maximum number of sessions per claim.
BATCH = 100
#: Seconds after which a sweep claims no more sessions, because the worker has other work.
MAX_SWEEP_S = 2.0
#: Seconds after which a sweep reads the progress of the queue again: with a slow Redis, many checks take
#: long.
VIEW_S = 0.5
#: Milliseconds per unfinished session until sessions with waiting messages are checked again, so that a long
#: queue does not keep the sweep busy.
PAUSE_MS = 5


def always_free() -> bool:
    """Return True, for a process that is not a worker."""
    return True


def sweep(runtime: Runtime, *, is_free: Callable[[], bool] = always_free) -> int:
    """Check every session that is due now.

    Args:
        runtime: The runtime of this process.
        is_free: Function that returns whether this worker could run another Celery task. No probe is sent
            while all workers are busy, because queued messages may wait for them.

    Returns:
        The number of dispatched turns and steps.

    Raises:
        RedisUnavailable, OperationalError: Unchecked sessions are claimed again after the grace time.
    """
    runtime.graph.check()
    sent, ends_at = 0, time.monotonic() + MAX_SWEEP_S
    newer: list[str] = []
    while True:
        view = QueueView.now(runtime, is_free)
        claimed = runtime.index.claim(limit=BATCH, hold_ms=runtime.limits.grace_ms)
        for session_id in claimed:
            if time.monotonic() > view.made_at + VIEW_S:
                view = QueueView.now(runtime, is_free)
            try:
                with log_context(session_id):
                    sent += sweep_session(runtime, session_id, view)
            except (RedisUnavailable, broker_error()):
                raise
            except NewerFormat as error:
                newer += _leave_to_newer(runtime, session_id, error)
            except SymposiaError as error:
                log.error("sweeping session %s failed: %s", session_id, error)
                _report_unreadable(runtime, session_id)
            except Exception:  # one session that cannot be read must not block the others
                log.exception("sweeping session %s failed", session_id)
                _report_unreadable(runtime, session_id)
        if len(claimed) < BATCH or time.monotonic() > ends_at:
            break
    _make_due(runtime, newer)
    return sent


def _leave_to_newer(runtime: Runtime, session_id: str, error: NewerFormat) -> list[str]:
    """Return the session if a running worker can sweep it."""
    if find_newer_worker(runtime, error):
        return [session_id]
    log.warning("%s; leaving it to newer workers", error)
    _report_unreadable(runtime, session_id)
    return []


def _make_due(runtime: Runtime, session_ids: list[str]) -> None:
    """Make claimed sessions due again at once: otherwise the claims of all older workers would delay them in turn."""
    if session_ids:
        runtime.index.set_all_due_by(session_ids, runtime.index.now_ms())


@dataclass(slots=True)
class QueueView:
    """The queue as seen by one sweep."""

    runtime: Runtime
    #: Send time of the newest message that workers have taken, in milliseconds; None: they have taken all.
    taken_ms: int | None
    #: `time.monotonic()` of the reading, in seconds.
    made_at: float
    #: Milliseconds until sessions with waiting messages are checked again; 0: there is none.
    wait_ms: int = 0
    #: Milliseconds after which a message counts as late; None: those of the settings.
    grace_ms: int | None = None

    @classmethod
    def now(cls, runtime: Runtime, is_free: Callable[[], bool] = always_free) -> Self:
        """Return the current queue.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return cls(runtime, runtime.stores.queue_progress.publish(is_free=is_free()), time.monotonic())

    def find_due_work(self, session_id: str) -> ScriptAnswer:
        """Return the due work of a session, with a probe if one may be sent."""
        grace_ms = self.grace_ms or self.runtime.limits.grace_ms
        answer = self.runtime.store.sweep(session_id, grace_ms=grace_ms, taken_ms=self.taken_ms)
        if not answer.held or self.wait_ms:
            return answer
        refused_ms = self.runtime.stores.queue_progress.probe(grace_ms=grace_ms)
        self.wait_ms = max(refused_ms or grace_ms // 10, self.runtime.index.unfinished() * PAUSE_MS)
        if refused_ms:
            return answer
        log.info("session %s: messages wait although a worker is free, sending a probe", session_id)
        return self.runtime.store.sweep(session_id, grace_ms=grace_ms, taken_ms=self.taken_ms, probes=1)

    def next_check_ms(self, answer: ScriptAnswer) -> int | None:
        """Return the time of the next check of the session."""
        if answer.state is None or answer.due_ms is None or not answer.held:
            return answer.due_ms
        return min(answer.due_ms, answer.state.now_ms + self.wait_ms)


def sweep_session(runtime: Runtime, session_id: str, view: QueueView) -> int:
    """Check one session; return the number of dispatched turns and steps."""
    answer = view.find_due_work(session_id)
    if answer.state is not None and check_awaited_agents(runtime, answer.state, answer.numbers):
        answer = _merge_due_work(answer, view.find_due_work(session_id))
    if answer.word == "ended":
        _record_end(runtime, session_id)
        return 0
    look_ms = view.next_check_ms(answer)
    if answer.state is None or look_ms is None:
        runtime.index.drop_orphan(session_id, runtime.index)
        return 0
    if not _report_questions(runtime, answer.state):
        look_ms = min(look_ms, answer.state.now_ms + runtime.limits.grace_ms)
    # Set the next check before sending: a crash in between delays the session by only one grace time.
    runtime.index.reschedule(session_id, look_ms)
    if link := ParentLink.parse(answer.parent):
        follow_parent(runtime, answer.state, link)
    sent = _dispatch_due_work(runtime, answer, answer.state)
    runtime.ports.metrics.count(SWEEP_DISPATCHES, amount=sent)
    _report_to_monitors(runtime, answer.state, look_ms)
    return sent


def _report_questions(runtime: Runtime, state: SessionState) -> bool:
    """Report the questions of parked turns, whose workers may have been lost before they did; False: retry soon."""
    if not runtime.ports.events.has_questions:
        return True
    parked = [record.number for record in state.open_turns() if record.parking is not None]
    facts = runtime.sessions.facts.get_for_state(state.session_id, state) if parked else None
    return facts is None or all(report_question(runtime, facts, state, number) for number in parked)


def _merge_due_work(first: ScriptAnswer, second: ScriptAnswer) -> ScriptAnswer:
    """Return the second answer with the work of the first, which counts as sent already, except turns that wait."""
    if second.state is None:
        return second
    ready = {record.number for record in second.state.open_turns() if record.lacks is None}
    earlier = [number for number in first.numbers if number in ready]
    numbers = tuple(dict.fromkeys((*earlier, *second.numbers)))
    return replace(second, numbers=numbers, advance=first.advance or second.advance)


def _dispatch_due_work(runtime: Runtime, answer: ScriptAnswer, state: SessionState) -> int:
    session_id = state.session_id
    if not answer.numbers and not answer.advance:
        return 0
    try:
        facts = runtime.sessions.facts.get_for_state(session_id, state)
    except SessionNotFound:
        return 0
    if answer.numbers:
        log.info("session %s: dispatching turns %s again", session_id, list(answer.numbers))
        send_turns(runtime.graph, facts, state, answer.numbers)
    if answer.advance:
        log.info("session %s: requesting its next step again", session_id)
        runtime.graph.send_advance(session_id, sent_ms=state.now_ms, share=facts.spec.share)
    return len(answer.numbers) + answer.advance


def _record_end(runtime: Runtime, session_id: str) -> None:
    """Mark a session as ended that was cancelled, or whose worker died after it had ended the session."""
    # The state is read first: a failed read leaves the session to the next sweep.
    has_family = FamilyStore(runtime.store.client).links(session_id).has_family
    ended = _read_ended(runtime, session_id)
    if ended is None:
        runtime.index.mark_ended(session_id)
        return
    if has_family:
        runtime.sessions.tree.settle_end(runtime, *ended)
    else:
        cancel_batches(runtime, ended[1])
    if ended[0].spec.on_end is not None:
        runtime.ports.end_messages.send(session_id)
    finish_session(runtime, *ended)


def _read_ended(runtime: Runtime, session_id: str) -> tuple[SessionFacts, SessionState] | None:
    """Return facts and state of an ended session; None: it has expired or cannot be read."""
    try:
        state = runtime.store.state(session_id)
        return runtime.sessions.facts.get_for_state(session_id, state), state
    except (SessionNotFound, CorruptSession) as error:
        log.warning("reading the ended session %s failed: %s", session_id, error)
        return None


def _report_to_monitors(runtime: Runtime, state: SessionState, look_ms: int) -> None:
    """Report a session without progress, until after its next check, and the status of a suspended one."""
    until_ms = look_ms + runtime.limits.grace_ms
    if reason := _stuck_reason(runtime, state):
        stuck = StuckSessions(runtime.store.client)
        stuck.add(state.session_id, reason, now_ms=state.now_ms, until_ms=until_ms)
    if state.status is CollabStatus.SUSPENDED:
        # The process that suspended it may have died before it changed the index.
        mode = runtime.sessions.facts.get_for_state(state.session_id, state).collab.mode
        runtime.index.live.set_suspended(state.session_id, mode, suspended=True)


def _stuck_reason(runtime: Runtime, state: SessionState) -> StuckReason | None:
    after_ms = runtime.limits.stuck_after_ms
    reason = stuck_reason(state, after_ms=after_ms)
    if reason is not StuckReason.QUEUED:
        return reason
    # Read only now: few sessions wait for so long.
    return stuck_reason(state, after_ms=after_ms, queue_moved_ms=runtime.stores.queue_progress.moved_ms())


def _report_unreadable(runtime: Runtime, session_id: str) -> None:
    now_ms = runtime.index.now_ms()
    stuck = StuckSessions(runtime.store.client)
    # The claim holds the session for the grace time.
    until_ms = now_ms + 3 * runtime.limits.grace_ms
    stuck.add(session_id, StuckReason.UNREADABLE, now_ms=now_ms, until_ms=until_ms)


def take_over_lost_workers(runtime: Runtime) -> None:
    """Take over the turns of all lost processes.

    Raises:
        RedisUnavailable, OperationalError: The processes that are left are claimed again after some seconds.
    """
    leases = WorkerLeases(runtime.store.client)
    for process in leases.claim_lost():
        # First: from now on it counts as no worker, and no turn is sent to it.
        WorkerPresence(runtime.store.client).remove_lost(process)
        if runtime.graph.routes is not None:
            runtime.graph.routes.forget()
        session_ids = leases.sessions_of(process)
        if session_ids:
            count = count_of(len(session_ids), "session")
            log.warning("worker %s was lost; taking over its turns in %s", process, count)
        for session_id in session_ids:
            with log_context(session_id):
                _take_over_session(runtime, session_id, process)
        leases.remove(process)
        runtime.ports.metrics.count(LOST_WORKERS, amount=int(bool(session_ids)))


def _take_over_session(runtime: Runtime, session_id: str, process: str) -> None:
    try:
        for record in runtime.store.state(session_id).open_turns():
            if record.process == process and runtime.store.release_lost(session_id, record, process):
                log.info("turn %s of session %s is free again", record.number, session_id)
        # Workers that run have begun what they took; only a turn that waits in the queue is sent twice.
        sweep_session(runtime, session_id, QueueView(runtime, None, time.monotonic(), grace_ms=1))
    except (RedisUnavailable, broker_error()):
        raise
    except SessionNotFound:
        return
    except Exception:  # one session that cannot be read must not block the others
        log.exception("taking over session %s failed; its turns wait for the end of their leases", session_id)
