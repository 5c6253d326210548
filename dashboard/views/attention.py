"""Why a session does not move, and whether a person should look at it. Pure.

Of several conditions of a session, the first one in the order of `Kind` counts. `ATTENTIONS` are those that need
attention; the others say what goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from pydantic import JsonValue

from ...models.metrics import StuckReason
from ...models.protocol.collab import CollabStatus
from ...models.sessions.options import FailurePolicy
from ...models.turns.waiting import ParkedQuestion, TimeoutAction
from ...state.redis.readers import converting_to_corrupt, read_object
from ...state.sessions.live_sessions import stuck_reason
from ...state.sessions.records import SessionState
from ...state.sessions.turn_records import TurnRecord
from ...state.worker_routes import describe_awaited
from .collab_row import CollabRow

Kind = Literal[
    "unreadable",
    "lost",
    "worker",
    "stuck",
    "person",
    "retry",
    "budget",
    "remote",
    "session",
    "postponed",
    "speaking",
    "queued",
    "planning",
]
#: Kinds that need attention, the first one first, with their badges.
ATTENTIONS: Mapping[str, str] = {
    "unreadable": "unreadable",
    "lost": "worker lost",
    "worker": "no worker",
    "stuck": "stuck",
    "person": "needs answer",
    "retry": "retries",
    "budget": "waits: budget",
}
#: Names of earlier releases in URLs.
_OLD_NAMES = {"no_worker": "worker", "parked": "person"}


def attention_name(text: str) -> str:
    """Return the name of an attention in a URL; those of earlier releases are replaced."""
    return _OLD_NAMES.get(text, text)


@dataclass(frozen=True, slots=True)
class AttentionLimits:
    """Times without progress, in milliseconds, after which a session counts as stuck: as in the metrics."""

    stuck_ms: int


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers, as last read. Times are in milliseconds since the epoch, by the server's clock."""

    #: Names of those that run.
    alive: frozenset[str] = frozenset()
    #: Process that was lost -> since when.
    lost: Mapping[str, int] = field(default_factory=dict)
    #: Since when none runs; None: unknown, or one runs.
    none_since_ms: int | None = None
    #: When workers last took a message from the queue; 0: unknown.
    queue_moved_ms: int = 0


@dataclass(frozen=True, slots=True)
class Roster:
    """Settings of a session that its condition needs; they change with its edition only."""

    #: Display name by participant id.
    names: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    #: Attempts by participant id, and those of all others.
    attempts: Mapping[str, int] = field(default_factory=dict)
    default_attempts: int = 3
    tenant: str | None = None

    @classmethod
    def read(cls, session_id: str, collab: str, spec: str) -> Roster:
        """Return the settings from the documents of a session.

        Raises:
            CorruptSession: A stored record is invalid.
        """
        people = read_object(collab, session_id=session_id, part="collab").get("participants")
        rows = [row for row in people if isinstance(row, dict)] if isinstance(people, list) else []
        ids = {str(row.get("participant_id")): row for row in rows}
        options: dict[str, Any] = read_object(spec, session_id=session_id, part="spec")
        with converting_to_corrupt(session_id, "spec"):
            policies = {
                name: FailurePolicy.model_validate(policy)
                for name, policy in (options.get("policies") or {}).items()
            }
            policy = FailurePolicy.model_validate(options.get("policy") or {})
        return cls(
            names={name: str(row.get("display_name") or name) for name, row in ids.items()},
            roles={name: str(row["role_id"]) for name, row in ids.items() if row.get("role_id")},
            attempts={name: policy.attempts for name, policy in policies.items()},
            default_attempts=policy.attempts,
            tenant=options.get("tenant"),
        )

    def name(self, participant: str) -> str:
        """Return the display name of a participant, or of a person who is asked."""
        return self.names.get(participant, participant)

    def attempts_of(self, participant: str) -> int:
        """Return how many attempts a turn of a participant has."""
        return self.attempts.get(participant, self.default_attempts)


@dataclass(frozen=True, slots=True)
class Condition:
    """What a session does, or why it does not move. Times are in milliseconds since the epoch.

    It changes only when the session or the workers change, not with time.
    """

    kind: Kind | None = None
    #: The turn that it is about, and the name of its participant; empty: the person must speak, and was asked by no agent.
    turn: int | None = None
    who: str = ""
    #: Names of the people who may answer, with their roles on the session page.
    answerers: tuple[str, ...] = ()
    answerer_roles: tuple[str, ...] = ()
    #: Name of the worker that was lost, or that runs the turn.
    worker: str = ""
    #: The error, the question, or what is missing.
    detail: str = ""
    #: What happens next without a person, or at `due_ms`.
    then: str = ""
    since_ms: int | None = None
    due_ms: int | None = None
    attempt: int = 0
    attempts: int = 0
    #: Number of turns in this condition.
    count: int = 0

    @property
    def attention(self) -> str | None:
        """Return its name as an attention; None: it needs none."""
        return self.kind if self.kind in ATTENTIONS else None

    @property
    def badge(self) -> str | None:
        """Return the text of the badge; None: that of the status."""
        return ATTENTIONS.get(self.kind or "")

    def list_text(self) -> str | None:
        """Return the text in the list, without times; None: it needs no attention."""
        match self.kind:
            case "lost":
                return f"{self.who} was speaking on {self.worker or 'a lost worker'}"
            case "person":
                asked_by = f", asked by {self.who}" if self.who else ""
                return f"{' or '.join(self.answerers)} must answer{asked_by}"
            case "retry":
                most = f" of {self.attempts}" if self.attempts else ""
                return ". ".join(filter(None, (f"Attempt {self.attempt}{most}", self.detail)))
            case "unreadable" | "worker" | "stuck" | "budget":
                return self.detail
            case _:
                return None


NO_CONDITION = Condition()


def with_condition(row: CollabRow, condition: Condition) -> CollabRow:
    """Return a row with the attention of a condition."""
    return {
        **row,
        "attention": condition.attention,
        "attention_text": condition.list_text(),
        "attention_next": condition.then or None if condition.attention else None,
        "attention_since_ms": condition.since_ms if condition.attention else None,
        "attention_due_ms": condition.due_ms if condition.attention else None,
    }


def condition_json(condition: Condition) -> dict[str, JsonValue]:
    """Return a condition for the JSON of one session."""
    return {
        "condition": condition.kind,
        "attention": condition.attention,
        "attention_text": condition.list_text(),
        "attention_next": condition.then or None if condition.attention else None,
        "attention_since_ms": condition.since_ms,
        "attention_due_ms": condition.due_ms,
    }


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
    judges = (
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
    for turn in turns:
        if turn.status != "speaking":
            continue
        ends_ms = leases.get(turn.number)
        lost_ms = workers.lost.get(turn.process or "")
        if lost_ms is None and (ends_ms is None or ends_ms > now_ms):
            continue
        name = (turn.process or "").rpartition("/")[0]
        other = next(iter(workers.alive)) if len(workers.alive) == 1 else "another worker"
        return Condition(
            "lost",
            turn.number,
            roster.name(turn.participant),
            worker=name,
            then=f"{other if workers.alive else 'the next worker'} repeats the turn",
            since_ms=ends_ms if lost_ms is None else lost_ms,
            due_ms=ends_ms if ends_ms is not None and ends_ms > now_ms else None,
        )
    return None


def _without_worker(turns: Sequence[TurnRecord], roster: Roster, workers: Workers) -> Condition | None:
    if lacking := [turn for turn in turns if turn.lacks is not None]:
        needs = tuple(dict.fromkeys(turn.lacks for turn in lacking if turn.lacks is not None))
        return Condition(
            "worker",
            lacking[0].number,
            roster.name(lacking[0].participant),
            detail=describe_awaited(needs),
            then="it goes on when a worker with the agent starts",
            since_ms=lacking[0].queued_ms,
            count=len(lacking),
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
        if turn.child is not None or waiting.delivery is not None or turn.parking is None:
            continue
        names = waiting.asked or (turn.participant,)
        return Condition(
            "person",
            turn.number,
            "" if waiting.is_own else roster.name(turn.participant),
            answerers=tuple(roster.name(name) for name in names),
            answerer_roles=tuple(roster.roles.get(name, "") for name in names),
            detail=waiting.question.text,
            then=_without_answer(waiting, roster),
            since_ms=turn.parking.parked_ms,
            due_ms=turn.parking.until_ms,
        )
    return None


def _without_answer(waiting: ParkedQuestion, roster: Roster) -> str:
    policy = waiting.policy
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
    """Return what goes on in a session that needs no attention."""
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
@lru_cache(maxsize=1_024)
def _read_question(text: str) -> ParkedQuestion:
    return ParkedQuestion.model_validate_json(text)
