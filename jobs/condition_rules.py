"""The rules by which a session is in a condition (`conditions.py`): the first rule that fits counts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..models.metrics import StuckReason
from ..models.protocol.collab import CollabStatus
from ..models.sessions.agent_queues import COMMON, parse_need
from ..models.text.text_cache import cache_texts
from ..models.turns.waiting import ParkedQuestion, TimeoutAction
from ..state.redis.readers import converting_to_corrupt
from ..state.sessions.live_sessions import stuck_reason
from ..state.sessions.records import SessionState
from ..state.sessions.turn_records import TurnRecord
from ..state.worker_routes import describe_awaited
from .conditions import NO_CONDITION, AttentionLimits, Condition, Kind, Roster, Workers


def condition_of(
    state: SessionState,
    roster: Roster,
    workers: Workers,
    *,
    limits: AttentionLimits,
    is_unswept: bool = False,
    leases: Mapping[int, int] | None = None,
    error: str = "",
) -> Condition:
    """Return the condition of a session.

    Args:
        state: The state of the session; `now_ms` is the time of the judgement.
        roster: Its settings.
        workers: The workers.
        limits: Times after which it is stuck.
        is_unswept: Whether its check by a worker is overdue by the time of the limits.
        leases: When the lease of a turn ends, for turns that may have lost their worker.
        error: The newest error of a turn.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    if state.status is not CollabStatus.ACTIVE:
        return NO_CONDITION
    turns = state.open_turns()
    judges: tuple[Callable[[], Condition | None], ...] = (
        lambda: _lost(turns, roster, workers, leases or {}, state.now_ms),
        lambda: _without_worker(turns, roster, workers),
        lambda: _stuck(state, turns, roster, workers, limits, is_unswept=is_unswept),
        lambda: _person(state, turns, roster),
        lambda: _retry(state, turns, roster, error),
        lambda: _budget(state, turns, roster, limits),
        lambda: _moving(state, turns, roster),
    )
    return next(found for judge in judges if (found := judge()) is not None)


def _lost(
    turns: Sequence[TurnRecord],
    roster: Roster,
    workers: Workers,
    leases: Mapping[int, int],
    now_ms: int,
) -> Condition | None:
    lost = [turn for turn in turns if _is_lost(turn, workers, leases, now_ms)]
    if not lost:
        return None
    turn, other = lost[0], next(iter(workers.alive)) if len(workers.alive) == 1 else "another worker"
    ends_ms = leases.get(turn.number)
    return Condition(
        "lost",
        turn.number,
        roster.name(turn.participant),
        worker=(turn.process or "").rpartition("/")[0],
        then=f"{other if workers.alive else 'the next worker'} repeats the turn",
        since_ms=workers.lost.get(turn.process or "", ends_ms),
        due_ms=ends_ms if ends_ms is not None and ends_ms > now_ms else None,
        count=len(lost),
        lost_turns=tuple(turn.number for turn in lost),
    )


def _is_lost(turn: TurnRecord, workers: Workers, leases: Mapping[int, int], now_ms: int) -> bool:
    ends_ms = leases.get(turn.number)
    has_ended = ends_ms is not None and ends_ms <= now_ms
    return turn.status == "speaking" and (has_ended or (turn.process or "") in workers.lost)


def _without_worker(turns: Sequence[TurnRecord], roster: Roster, workers: Workers) -> Condition | None:
    if lacking := [turn for turn in turns if turn.lacks is not None]:
        needs = tuple(dict.fromkeys(turn.lacks for turn in lacking if turn.lacks is not None))
        queues = [parse_need(need)[1] for need in needs]
        return Condition(
            "worker",
            lacking[0].number,
            roster.name(lacking[0].participant),
            detail=describe_awaited(needs),
            then="it goes on when a worker with the agent starts",
            since_ms=lacking[0].queued_ms,
            count=len(lacking),
            queues=",".join(sorted({queue or COMMON for queue in queues})) if any(queues) else "",
        )
    waiting = [turn for turn in turns if turn.parking is None]
    if workers.alive or (turns and not waiting):
        return None
    first = waiting[0] if waiting else None
    whose = f"turn {first.number} ({roster.name(first.participant)})" if first else "the next step"
    return Condition(
        "worker",
        first.number if first else None,
        roster.name(first.participant) if first else "",
        detail=f"{whose} waits for a worker",
        then="it goes on when a worker starts",
        since_ms=workers.none_since_ms,
        count=len(waiting),
    )


def _stuck(
    state: SessionState,
    turns: Sequence[TurnRecord],
    roster: Roster,
    workers: Workers,
    limits: AttentionLimits,
    *,
    is_unswept: bool,
) -> Condition | None:
    reason = stuck_reason(state, after_ms=limits.stuck_ms, queue_moved_ms=workers.queue_moved_ms)
    if reason is StuckReason.QUEUED:
        queued = [turn for turn in turns if turn.queued_ms is not None]
        what = (
            f"turn {queued[0].number} ({roster.name(queued[0].participant)})" if queued else "the next step"
        )
        since_ms = max(workers.queue_moved_ms, queued[0].queued_ms or 0) if queued else state.updated_ms
        return Condition(
            "stuck",
            queued[0].number if queued else None,
            detail=f"{what} waits, and no worker takes anything from the queue",
            since_ms=max(since_ms, workers.queue_moved_ms),
        )
    return Condition("stuck", detail="no worker sweeps it", since_ms=state.updated_ms) if is_unswept else None


def _person(state: SessionState, turns: Sequence[TurnRecord], roster: Roster) -> Condition | None:
    for turn, waiting in parked_questions(state, turns):
        if turn.child is not None or turn.parking is None or not waiting.is_for_people:
            continue
        names = waiting.asked or (turn.participant,)
        return Condition(
            "person",
            turn.number,
            "" if waiting.is_own else roster.name(turn.participant),
            answerers=tuple(roster.name(name) for name in names),
            answerer_roles=tuple(roster.roles.get(name, "") for name in names),
            detail=waiting.question.text,
            then=without_answer(waiting, roster),
            since_ms=turn.parking.parked_ms,
            due_ms=turn.parking.until_ms,
        )
    return None


def without_answer(waiting: ParkedQuestion, roster: Roster) -> str:
    """Return what happens at the deadline of a question without an answer.

    Args:
        waiting: The question.
        roster: Settings of its session.
    """
    policy = waiting.policy
    # A default answer is no decision about what a guard holds.
    if waiting.is_for_guard and policy.then is TimeoutAction.DEFAULT:
        return "it counts as refused"
    match policy.then:
        case TimeoutAction.DEFAULT:
            return f"“{policy.default}” is taken for the answer"
        case TimeoutAction.REASSIGN:
            return f"{roster.name(policy.to or '')} takes over the turn"
        case TimeoutAction.ESCALATE:
            return (
                "the turn fails" if waiting.escalated else f"{roster.name(policy.to or '')} may answer, too"
            )
        case TimeoutAction.CANCEL:
            return "the session is cancelled"
        case _ if waiting.is_decision:
            return "it counts as refused"
        case _:
            return "the turn is skipped" if waiting.is_own else "the agent goes on without one"


def _retry(state: SessionState, turns: Sequence[TurnRecord], roster: Roster, error: str) -> Condition | None:
    for turn in turns:
        if turn.status == "planned" and turn.failures and (turn.queued_ms or 0) > state.now_ms:
            return Condition(
                "retry",
                turn.number,
                roster.name(turn.participant),
                detail=error,
                due_ms=turn.queued_ms,
                attempt=turn.failures + 1,
                attempts=roster.attempts_of(turn.participant),
            )
    for turn, waiting in parked_questions(state, turns):
        delivery = waiting.delivery
        if delivery is not None and delivery.attempts and not delivery.delivered:
            return Condition(
                "retry",
                turn.number,
                roster.name(turn.participant),
                detail="the remote system does not take the turn",
                due_ms=delivery.due_ms,
                attempt=delivery.attempts + 1,
            )
    return None


def _budget(
    state: SessionState, turns: Sequence[TurnRecord], roster: Roster, limits: AttentionLimits
) -> Condition | None:
    whose = f" of tenant {roster.tenant}" if roster.tenant else ""
    if stuck_reason(state, after_ms=limits.stuck_ms) is StuckReason.BUDGET:
        short = next(turn for turn in turns if turn.short is not None)
        return Condition(
            "budget",
            short.number,
            roster.name(short.participant),
            detail="waits for a part of the budget of the session",
            then="it goes on when other turns release their parts",
            since_ms=state.updated_ms,
        )
    for turn in _postponed(state, turns):
        if (turn.queued_ms or 0) - state.now_ms >= limits.stuck_ms:
            return Condition(
                "budget",
                turn.number,
                roster.name(turn.participant),
                detail=f"waits for the budget{whose}" if whose else "waits for a budget or a rate limit",
                then="it goes on by itself",
                since_ms=state.updated_ms,
                due_ms=turn.queued_ms,
            )
    return None


def _postponed(state: SessionState, turns: Sequence[TurnRecord]) -> Iterator[TurnRecord]:
    """Yield the turns that a limit outside of the session has postponed."""
    for turn in turns:
        if turn.status == "planned" and not turn.failures and (turn.queued_ms or 0) > state.now_ms:
            yield turn


def _moving(state: SessionState, turns: Sequence[TurnRecord], roster: Roster) -> Condition:
    """Return the condition of a session that needs no attention."""
    if speaking := [turn for turn in turns if turn.status == "speaking"]:
        first = min(speaking, key=lambda turn: turn.began_ms or 0)
        return _of_turn("speaking", first, roster, since_ms=first.began_ms, count=len(speaking))
    for turn in _postponed(state, turns):
        return _of_turn("postponed", turn, roster, due_ms=turn.queued_ms)
    if queued := [turn for turn in turns if turn.status == "planned"]:
        first = min(queued, key=lambda turn: turn.queued_ms or state.now_ms)
        return _of_turn("queued", first, roster, since_ms=first.queued_ms, count=len(queued))
    for turn in turns:
        kind: Kind = "session" if turn.child is not None else "remote"
        if turn.parking is not None:
            return _of_turn(kind, turn, roster, since_ms=turn.parking.parked_ms, detail=turn.child or "")
    return Condition("planning", since_ms=state.updated_ms)


def _of_turn(kind: Kind, turn: TurnRecord, roster: Roster, **fields: Any) -> Condition:
    worker = (turn.process or "").rpartition("/")[0]
    return Condition(kind, turn.number, roster.name(turn.participant), worker=worker, **fields)


def parked_questions(
    state: SessionState, turns: Sequence[TurnRecord]
) -> Iterator[tuple[TurnRecord, ParkedQuestion]]:
    """Yield the parked turns with their questions.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    for turn in turns:
        if turn.parking is not None:
            with converting_to_corrupt(state.session_id, f"the question of turn {turn.number}"):
                waiting = _read_question(turn.wait or "{}")
            yield turn, waiting


# A question is read again at every judgement until its answer.
@cache_texts(maxsize=1_024)
def _read_question(text: str) -> ParkedQuestion:
    return ParkedQuestion.model_validate_json(text)
