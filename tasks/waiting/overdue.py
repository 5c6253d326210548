"""Questions without an answer in time: the policy of the wait applies."""

from __future__ import annotations

from ...models.text.ids import new_id
from ...models.text.redact import excerpt
from ...models.turns.turn import OutcomeKind
from ...models.turns.waiting import TimeoutAction
from ...state.turns.inbox import Inbox, InboxEntry
from ...state.turns.parked import EventData, ReplyRule
from ..runtime.runtime import Runtime
from ..turns.summary import FAILURE_EFFECTS, TurnEnd, summarize_failure
from .parked_turn import OpenQuestion
from .replies import end_wait
from .tending import fail_parked_turn, record_work

#: Maximum reassignments in one turn: two substitutes of each other must not alternate without end.
MOST_PASSED_ON = 8
_NO_ANSWER = "no answer in time"


def apply_deadline_policy(runtime: Runtime, asked: OpenQuestion) -> TurnEnd:
    """Apply the policy of a turn after its deadline has passed without an answer."""
    policy, waiting = asked.waiting.policy, asked.waiting
    match policy.then:
        case TimeoutAction.DEFAULT:
            reply = asked.build_answer(policy.default, by=None, rule=ReplyRule.DEADLINE)
        case TimeoutAction.REASSIGN if waiting.is_own:
            return _reassign(runtime, asked)
        case TimeoutAction.REASSIGN if policy.to not in waiting.asked:
            return _ask_another(runtime, asked, "turn.reassigned", (str(policy.to),), new_token=new_id())
        case TimeoutAction.ESCALATE if not waiting.escalated:
            return _ask_another(runtime, asked, "turn.escalated", (*waiting.asked, str(policy.to)))
        case TimeoutAction.ESCALATE:
            return fail_parked_turn(runtime, asked, _NO_ANSWER, rule=ReplyRule.DEADLINE)
        case TimeoutAction.CANCEL:
            return _cancel(runtime, asked)
        case _:
            reply = asked.build_answer(None, by=None, rule=ReplyRule.DEADLINE)
    return TurnEnd(end_wait(runtime, asked, reply).word, _NO_ANSWER)


def _ask_another(
    runtime: Runtime, asked: OpenQuestion, event: str, names: tuple[str, ...], *, new_token: str | None = None
) -> TurnEnd:
    """Ask another participant, in place of the first or in addition, with the same time limit again."""
    waiting = asked.waiting.model_copy(update={"asked": names, "escalated": True})
    number, session_id = asked.number, asked.facts.session_id
    inbox = Inbox(runtime.store.client)
    inbox.add([InboxEntry(session_id, number, name) for name in names], at_ms=asked.parking.parked_ms)
    until_ms = asked.state.now_ms + int((waiting.policy.deadline_s or 0) * 1000)
    about: EventData = {"asked": list(names)}
    word = record_work(
        runtime, asked, waiting, event=event, about=about, until_ms=until_ms, new_token=new_token
    )
    if word != "tended":
        return TurnEnd(word)
    inbox.remove(letter for letter in asked.inbox_entries() if letter.name not in names)
    return TurnEnd(word, f"parked: waiting for {excerpt(', '.join(names))}")


def _reassign(runtime: Runtime, asked: OpenQuestion) -> TurnEnd:
    if asked.waiting.passed_on >= MOST_PASSED_ON:
        line = f"reassigned {MOST_PASSED_ON} times without an answer"
        return fail_parked_turn(runtime, asked, line, rule=ReplyRule.DEADLINE)
    to = str(asked.waiting.policy.to)
    word = end_wait(
        runtime, asked, asked.build_reassignment(to, outcome="reassigned", rule=ReplyRule.DEADLINE)
    ).word
    return TurnEnd(word, f"{_NO_ANSWER}; agent {to!r} takes over")


def _cancel(runtime: Runtime, asked: OpenQuestion) -> TurnEnd:
    session_id, detail = asked.facts.session_id, f"{', '.join(asked.waiting.asked)} did not answer in time"
    runtime.store.cancel(
        session_id, reason="no_answer", detail=detail, retention_ms=runtime.limits.retention_ms
    )
    runtime.index.mark_ended(session_id)
    Inbox(runtime.store.client).remove(asked.inbox_entries())
    return summarize_failure("cancelled", _NO_ANSWER, FAILURE_EFFECTS[OutcomeKind.FAILED], is_last=True)
