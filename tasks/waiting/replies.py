"""Replies to questions: lookup of the question, the answer, and the follow-up of the session; work done during the wait.

The reply and the follow-up are two steps. The due index has a check of the session soon after the reply, so
the sweep continues if the process dies in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from ...models.errors import InvalidInput, MessageTooLarge, ReplyRefused, SessionNotFound
from ...models.metrics import TURNS, mode_label
from ...models.sessions.options import AfterRetries
from ...models.text.redact import excerpt
from ...models.turns.turn import OutcomeKind
from ...models.turns.waiting import ParkedQuestion
from ...state.metrics import MetricCounts, count_field
from ...state.sessions.index import SessionIndex
from ...state.sessions.records import ScriptAnswer, SessionState
from ...state.sessions.store import SessionStore
from ...state.turns.parked import FAR_MS, EventData, Inbox, ParkedTurnStore, Reply, ReplyRule
from ..planning.dispatch import dispatch_turns
from ..runtime.graph import TaskGraph, ignore_broker_outage, report_wait_end
from ..turns.results import FAILURE_EFFECTS, TurnEnd, describe_faults, summarize_failure
from ..views.session_views import SessionFacts
from .parked_turn import ParkedTurn, read_all_questions

#: Milliseconds until the sweep checks a session after a reply.
LOOK_IN_MS = 5_000
ENDED = ("replied", "returned", "held")
_REFUSALS = {
    "late": "late",
    "double": "double",
    "foreign": "foreign",
    "unknown": "unasked",
    "inactive": "ended",
    "missing": "ended",
}


class ReplyContext(Protocol):
    """Services that a worker and a client both need to handle replies."""

    @property
    def store(self) -> SessionStore:
        """Return the session store."""
        ...

    @property
    def index(self) -> SessionIndex:
        """Return the due index of the sessions."""
        ...

    @property
    def graph(self) -> TaskGraph:
        """Return the dispatcher to the queue."""
        ...


def find_question(
    facts: SessionFacts, state: SessionState, name: str, *, turn: int | None = None, token: str | None = None
) -> ParkedTurn:
    """Return the one open question to `name`: of all, of the given `turn`, or with the given reply `token`.

    Raises:
        ReplyRefused: There is no such question, or more than one: without turn or token the reply might
            answer another question than intended.
        InvalidInput: `name` is not text, or `turn` is not a number.
    """
    if not isinstance(name, str):
        raise InvalidInput("name", name, "must be text")
    if turn is not None and not isinstance(turn, int):
        raise InvalidInput("turn", turn, "must be a turn number")
    matches = [
        parked
        for parked in read_all_questions(facts, state)
        if turn in (None, parked.number) and name in parked.waiting.asked
    ]
    if len(matches) > 1 and token is not None:
        matches = [parked for parked in matches if parked.parking.reply_token == token] or matches[
            :1
        ]  # then `answer_question` refuses the foreign token
    if len(matches) > 1:
        questions = {
            parked.number: parked.waiting.question.text or parked.planned.expects for parked in matches
        }
        raise ReplyRefused(facts.session_id, name, "several", questions=questions)
    if matches:
        return matches[0]
    if state.is_final:
        raise ReplyRefused(facts.session_id, name, "ended")
    record = state.records.get(turn or 0)
    is_over = turn is not None and turn < state.next_number and not (record and record.is_open)
    raise ReplyRefused(facts.session_id, name, "double" if is_over else "unasked")


def answer_question(
    context: ReplyContext,
    parked: ParkedTurn,
    text: str,
    *,
    name: str,
    token: str | None,
    limit_bytes: int,
    sent_by: str | None = None,
) -> None:
    """Answer a question in the name of a person who was asked; a given `token` must be the question's.

    `sent_by` is the actor who sends the answer, recorded in the event; None: the person.

    Raises:
        InvalidInput: The answer is blank, too long, or not one of the choices.
        ReplyRefused: The question is no longer open; nothing was changed.
    """
    _check(parked, text, limit_bytes=limit_bytes)
    if token is not None and token != parked.parking.reply_token:
        raise ReplyRefused(parked.facts.session_id, name, "foreign")
    reply = parked.build_answer(text, by=name)
    if sent_by is not None:
        reply = replace(reply, about={**reply.about, "sent_by": sent_by})
    word = end_wait(context, parked, reply, f"answered by {excerpt(name)}").word
    if word == "missing":
        raise SessionNotFound(parked.facts.session_id)
    if word not in ENDED:
        raise ReplyRefused(parked.facts.session_id, name, _REFUSALS[word])


def end_wait(
    context: ReplyContext, parked: ParkedTurn, reply: Reply, summary: str, *, failed: bool = False
) -> ScriptAnswer:
    """Send a reply and, if it was accepted, dispatch the session's next work.

    Args:
        context: Services of this process.
        parked: The question.
        reply: The end of the wait.
        summary: How it ended, for monitors; without dialog text.
        failed: The turn failed.

    Returns:
        The answer of the script.
    """
    session_id = parked.facts.session_id
    context.index.set_due_by(session_id, parked.state.now_ms + LOOK_IN_MS)
    client = context.store.client
    result = ParkedTurnStore(client).reply(session_id, reply)
    if result.word in ENDED:
        context.index.archive_soon(session_id)
        Inbox(client).remove(parked.inbox_entries())
        _dispatch_next(context, parked, result)
        report_wait_end(context.graph, parked.record, summary, failed=failed)
        if reply.speech is not None:
            mode = mode_label(parked.facts.collab.mode)
            MetricCounts(client).count_event(count_field(TURNS, mode, reply.speech.kind.value))
    return result


def request_planning(context: ReplyContext, state: SessionState) -> None:
    """Dispatch the planning of the session's next step; without a broker the sweep does it."""
    with ignore_broker_outage(state.session_id):
        context.graph.send_advance(state.session_id, sent_ms=state.now_ms)


def _dispatch_next(context: ReplyContext, parked: ParkedTurn, result: ScriptAnswer) -> None:
    if result.state is None:
        return
    if result.word == "replied":
        request_planning(context, result.state)
    elif result.word == "returned":
        dispatch_turns(context.graph, parked.facts, result.state, [parked.number])


def _check(parked: ParkedTurn, text: object, *, limit_bytes: int) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput("text", text, "must not be blank; answer PASS to pass")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInput("text", text, "must be valid UTF-8 text") from None
    if size > limit_bytes:
        raise MessageTooLarge(size, limit_bytes=limit_bytes, field="text")
    choices = parked.waiting.question.choices
    if choices and text.strip() not in choices:
        raise InvalidInput("text", text, f"must be one of {', '.join(choices)}")
    if faults := parked.find_output_faults(text):
        raise InvalidInput("text", text, describe_faults(faults))


def escalation_ms(waiting: ParkedQuestion) -> int | None:
    """Return when the next person may answer, too, in milliseconds after the question; None: there is none."""
    after_s = waiting.policy.escalate_after_s
    return None if waiting.next_person is None or after_s is None else int(after_s * 1000)


def reminders_ms(waiting: ParkedQuestion) -> list[int]:
    """Return when reminders are due, in milliseconds after the question."""
    return [int(after_s * 1000) for after_s in waiting.policy.remind_after_s]


def record_work(
    context: ReplyContext,
    parked: ParkedTurn,
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
    until_ms = until_ms or parked.parking.until_ms
    wake_ms = min(_times(parked, waiting, until_ms), default=parked.state.now_ms + FAR_MS)
    session_id = parked.facts.session_id
    answer = ParkedTurnStore(context.store.client).update(
        session_id,
        parked.number,
        parked.parking.reply_token,
        wait=waiting.model_dump_json(exclude_defaults=True),
        wake_ms=wake_ms,
        until_ms=until_ms,
        event=event,
        about=about,
        new_token=new_token,
        happened=happened,
    )
    if answer.word == "tended":
        context.index.set_due_by(session_id, wake_ms)
        context.index.archive_soon(session_id)
    return answer.word


def _times(parked: ParkedTurn, waiting: ParkedQuestion, until_ms: int | None) -> Iterator[int]:
    """Yield the times at which work is due for the turn."""
    if until_ms is not None:
        yield until_ms
    if waiting.delivery is not None and not waiting.delivery.delivered:
        yield waiting.delivery.due_ms
    if waiting.child is not None:
        yield waiting.child.due_ms
    if waiting.batch_checks is not None:
        yield waiting.batch_checks.due_ms
    for after_ms in reminders_ms(waiting)[waiting.reminded :]:
        yield parked.parking.parked_ms + after_ms
    if (escalate_in_ms := escalation_ms(waiting)) is not None:
        yield parked.parking.parked_ms + escalate_in_ms


def fail_parked_turn(context: ReplyContext, parked: ParkedTurn, line: str, *, rule: ReplyRule) -> TurnEnd:
    """Fail the turn: its failure policy applies."""
    policy = parked.facts.spec.policy_of(parked.record.participant)
    kind = OutcomeKind.SKIPPED if policy.then is AfterRetries.SKIP else OutcomeKind.FAILED
    then = FAILURE_EFFECTS[kind]
    if policy.substitute and parked.record.agent is None:
        then = f"agent {policy.substitute!r} takes over"
        reply = parked.build_reassignment(policy.substitute, outcome="failed", rule=rule, error=line)
    else:
        reply = parked.build_closing(kind, error=line, rule=rule)
    summary = summarize_failure("", line, then, is_last=True).text
    word = end_wait(context, parked, reply, summary, failed=True).word
    return summarize_failure(word, line, then, is_last=word in ENDED)
