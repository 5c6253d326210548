"""Recording of work done for a parked turn, and of the time of its next check."""

from __future__ import annotations

from collections.abc import Iterator

from ...models.sessions.options import AfterRetries
from ...models.turns.turn import OutcomeKind
from ...models.turns.waiting import Waiting
from ...state.turns.parked import FAR_MS, About, ParkedTurns, Rule, Tending
from ..runtime.runtime import Runtime
from ..turns.summary import THEN, TurnEnd, failed
from .parked_turn import Asked
from .replies import ENDED, end_wait


def reminders_ms(waiting: Waiting) -> list[int]:
    """Return when reminders are due, in milliseconds after the question."""
    return [int(after_s * 1000) for after_s in waiting.policy.remind_after_s]


def tend(
    runtime: Runtime,
    asked: Asked,
    waiting: Waiting,
    *,
    event: str,
    about: About,
    until_ms: int | None = None,
    new_token: str | None = None,
    happened: bool = False,
) -> str:
    """Write `waiting` with an event; `until_ms`: a new deadline. Return `tended` or `gone`.

    An event that `happened` outside is recorded even if the wait is over by now.
    """
    until_ms = until_ms or asked.parking.until_ms
    done = Tending(
        wait=waiting.model_dump_json(exclude_defaults=True),
        wake_ms=min(_times(asked, waiting, until_ms), default=asked.state.now_ms + FAR_MS),
        until_ms=until_ms,
        event=event,
        about=about,
        new_token=new_token,
        happened=happened,
    )
    session_id = asked.facts.session_id
    turns = ParkedTurns(runtime.store.client)
    answer = turns.tend(session_id, asked.number, asked.parking.reply_token, done)
    if answer.word == "tended":
        runtime.index.sooner(session_id, done.wake_ms)
    return answer.word


def _times(asked: Asked, waiting: Waiting, until_ms: int | None) -> Iterator[int]:
    """Yield the times at which work is due for the turn."""
    if until_ms is not None:
        yield until_ms
    if waiting.delivery is not None and not waiting.delivery.delivered:
        yield waiting.delivery.due_ms
    for after_ms in reminders_ms(waiting)[waiting.reminded :]:
        yield asked.parking.parked_ms + after_ms


def give_up(runtime: Runtime, asked: Asked, line: str, *, rule: Rule) -> TurnEnd:
    """Fail the turn: its failure policy applies."""
    policy = asked.facts.spec.policy_of(asked.record.participant)
    kind = OutcomeKind.SKIPPED if policy.then is AfterRetries.SKIP else OutcomeKind.FAILED
    then = THEN[kind]
    if policy.substitute and asked.record.agent is None:
        then = f"agent {policy.substitute!r} takes over"
        reply = asked.passed_on(policy.substitute, outcome="failed", rule=rule, error=line)
    else:
        reply = asked.closed(kind, error=line, rule=rule)
    word = end_wait(runtime, asked, reply).word
    return failed(word, line, then, is_last=word in ENDED)
