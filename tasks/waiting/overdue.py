"""Questions without an answer in time: the policy of the wait applies."""

from __future__ import annotations

from ...models.text.ids import new_id
from ...models.text.redact import excerpt
from ...models.turns.turn import OutcomeKind
from ...models.turns.waiting import Then
from ...state.turns.inbox import Inbox, Letter
from ...state.turns.parked import About, Rule
from ..runtime.runtime import Runtime
from ..turns.summary import THEN, TurnEnd, failed
from .parked_turn import Asked
from .replies import end_wait
from .tending import give_up, tend

#: Maximum reassignments in one turn: two substitutes of each other must not alternate without end.
MOST_PASSED_ON = 8
_NO_ANSWER = "no answer in time"


def overdue(runtime: Runtime, asked: Asked) -> TurnEnd:
    """Apply the policy of a turn after its deadline has passed without an answer."""
    policy, waiting = asked.waiting.policy, asked.waiting
    match policy.then:
        case Then.DEFAULT:
            reply = asked.answered(policy.default, by=None, rule=Rule.DEADLINE)
        case Then.REASSIGN if waiting.is_own:
            return _reassign(runtime, asked)
        case Then.REASSIGN if policy.to not in waiting.asked:
            return _ask_another(runtime, asked, "turn.reassigned", (str(policy.to),), new_token=new_id())
        case Then.ESCALATE if not waiting.escalated:
            return _ask_another(runtime, asked, "turn.escalated", (*waiting.asked, str(policy.to)))
        case Then.ESCALATE:
            return give_up(runtime, asked, _NO_ANSWER, rule=Rule.DEADLINE)
        case Then.CANCEL:
            return _cancel(runtime, asked)
        case _:
            reply = asked.answered(None, by=None, rule=Rule.DEADLINE)
    return TurnEnd(end_wait(runtime, asked, reply).word, _NO_ANSWER)


def _ask_another(
    runtime: Runtime, asked: Asked, event: str, names: tuple[str, ...], *, new_token: str | None = None
) -> TurnEnd:
    """Ask another participant, in place of the first or in addition, with the same time limit again."""
    waiting = asked.waiting.model_copy(update={"asked": names, "escalated": True})
    number, session_id = asked.number, asked.facts.session_id
    inbox = Inbox(runtime.store.client)
    inbox.add([Letter(session_id, number, name) for name in names], at_ms=asked.parking.parked_ms)
    until_ms = asked.state.now_ms + int((waiting.policy.deadline_s or 0) * 1000)
    about: About = {"asked": list(names)}
    word = tend(runtime, asked, waiting, event=event, about=about, until_ms=until_ms, new_token=new_token)
    if word != "tended":
        return TurnEnd(word)
    inbox.remove(letter for letter in asked.letters() if letter.name not in names)
    return TurnEnd(word, f"parked: waiting for {excerpt(', '.join(names))}")


def _reassign(runtime: Runtime, asked: Asked) -> TurnEnd:
    if asked.waiting.passed_on >= MOST_PASSED_ON:
        line = f"reassigned {MOST_PASSED_ON} times without an answer"
        return give_up(runtime, asked, line, rule=Rule.DEADLINE)
    to = str(asked.waiting.policy.to)
    word = end_wait(runtime, asked, asked.passed_on(to, outcome="reassigned", rule=Rule.DEADLINE)).word
    return TurnEnd(word, f"{_NO_ANSWER}; agent {to!r} takes over")


def _cancel(runtime: Runtime, asked: Asked) -> TurnEnd:
    session_id, detail = asked.facts.session_id, f"{', '.join(asked.waiting.asked)} did not answer in time"
    runtime.store.cancel(
        session_id, reason="no_answer", detail=detail, retention_ms=runtime.limits.retention_ms
    )
    runtime.index.settle(session_id)
    Inbox(runtime.store.client).remove(asked.letters())
    return failed("cancelled", _NO_ANSWER, THEN[OutcomeKind.FAILED], is_last=True)
