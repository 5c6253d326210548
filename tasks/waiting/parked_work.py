"""Work that is recorded for a parked turn, and its final failure."""

from __future__ import annotations

from collections.abc import Iterator

from ...models.sessions.options import AfterRetries
from ...models.turns.turn import OutcomeKind
from ...models.turns.waiting import ParkedQuestion
from ...state.turns.parked import FAR_MS, EventData, ParkedTurnStore, ParkedUpdate, ReplyRule
from ..turns.results import FAILURE_EFFECTS, TurnEnd, summarize_failure
from .parked_turn import OpenQuestion
from .replies import ENDED, ReplyContext, end_wait


def reminders_ms(waiting: ParkedQuestion) -> list[int]:
    """Return when reminders are due, in milliseconds after the question."""
    return [int(after_s * 1000) for after_s in waiting.policy.remind_after_s]


def record_work(
    context: ReplyContext,
    asked: OpenQuestion,
    waiting: ParkedQuestion,
    *,
    event: str,
    about: EventData,
    until_ms: int | None = None,
    new_token: str | None = None,
    happened: bool = False,
) -> str:
    """Write `waiting` with an event; `until_ms`: a new deadline; return `tended` or `gone`.

    An event that `happened` outside is recorded even if the wait is over.
    """
    until_ms = until_ms or asked.parking.until_ms
    done = ParkedUpdate(
        wait=waiting.model_dump_json(exclude_defaults=True),
        wake_ms=min(_times(asked, waiting, until_ms), default=asked.state.now_ms + FAR_MS),
        until_ms=until_ms,
        event=event,
        about=about,
        new_token=new_token,
        happened=happened,
    )
    session_id = asked.facts.session_id
    turns = ParkedTurnStore(context.store.client)
    answer = turns.update(session_id, asked.number, asked.parking.reply_token, done)
    if answer.word == "tended":
        context.index.set_due_by(session_id, done.wake_ms)
        context.index.archive_soon(session_id)
    return answer.word


def _times(asked: OpenQuestion, waiting: ParkedQuestion, until_ms: int | None) -> Iterator[int]:
    """Yield the times at which work is due for the turn."""
    if until_ms is not None:
        yield until_ms
    if waiting.delivery is not None and not waiting.delivery.delivered:
        yield waiting.delivery.due_ms
    if waiting.child is not None:
        yield waiting.child.due_ms
    for after_ms in reminders_ms(waiting)[waiting.reminded :]:
        yield asked.parking.parked_ms + after_ms


def fail_parked_turn(context: ReplyContext, asked: OpenQuestion, line: str, *, rule: ReplyRule) -> TurnEnd:
    """Fail the turn: its failure policy applies."""
    policy = asked.facts.spec.policy_of(asked.record.participant)
    kind = OutcomeKind.SKIPPED if policy.then is AfterRetries.SKIP else OutcomeKind.FAILED
    then = FAILURE_EFFECTS[kind]
    if policy.substitute and asked.record.agent is None:
        then = f"agent {policy.substitute!r} takes over"
        reply = asked.build_reassignment(policy.substitute, outcome="failed", rule=rule, error=line)
    else:
        reply = asked.build_closing(kind, error=line, rule=rule)
    summary = summarize_failure("", line, then, is_last=True).text
    word = end_wait(context, asked, reply, summary, failed=True).word
    return summarize_failure(word, line, then, is_last=word in ENDED)
