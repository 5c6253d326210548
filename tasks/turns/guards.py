"""Guards of a turn: checks before and after its agent runs.

An answer that is refused with `ask_again` is stored in the turn's journal together with the event of the hit, before
the agent is asked again. A worker that takes over the turn of a dead worker asks for the correction only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from ...agents.agent import AnyAgent
from ...agents.execution.failures import scrub_text
from ...agents.guards import CallableGuard, GuardEntry, callable_check, read_reason
from ...models.guards import MAX_REASON, CheckedText
from ...models.sessions.limits import has_budget_to_ask_again
from ...models.sessions.options import AgentBinding
from ...models.text.redact import scrub_secrets
from ...models.turns.turn import TurnContext, TurnOutcome, Usage
from ...models.turns.waiting import GuardAction, GuardHold, GuardTime, RefusedAnswer, Verdict
from ...state.redis.readers import read_stored
from ...state.sessions.requests import JournalNote
from ...state.turns.guard_hits import GuardHit
from ..runtime.runtime import Runtime
from .active_turn import ActiveTurn, retry_during_outage, write_deadline

log = logging.getLogger(__name__)

#: Type of the event of a hit.
GUARD_HIT = "guard.hit"
#: Prefix of the journal keys of refused answers; the name of the agent and a number follow.
_REFUSED = "guard:"
#: Maximum characters of a refused answer repeated to its agent.
_MOST_SHOWN = 20_000

#: Runs an agent on a context, with the deadline and the lease of the turn.
Run = Callable[[AnyAgent, TurnContext], TurnOutcome]


@dataclass(frozen=True, slots=True)
class Hit:
    """A hit of a guard."""

    guard: str
    entry: GuardEntry
    reason: str


class GuardStop(Exception):
    """A guard, or the person that it has asked, ends this attempt of the turn.

    Attributes:
        action: What happens; `ask_again`: the agent has no further try, and the failure policy applies.
        line: Reason in one line, for the turn.
        outcome: The answer with its usage; None: the agent has not run.
        notes: Events that are written with the effect.
        hold: What a person is asked about; None: no person is asked.
        to: Who is asked.
    """

    def __init__(
        self,
        action: GuardAction,
        line: str,
        *,
        outcome: TurnOutcome | None,
        notes: tuple[JournalNote, ...] = (),
        hold: GuardHold | None = None,
        to: str = "",
    ) -> None:
        super().__init__(line)
        self.action = action
        self.line = line
        self.outcome = outcome
        self.notes = notes
        self.hold = hold
        self.to = to


@dataclass(slots=True)
class TurnGuards:
    """The guards of one attempt of a turn."""

    runtime: Runtime
    active_turn: ActiveTurn
    binding: AgentBinding
    context: TurnContext
    #: Runs callable guards.
    run: Run
    #: The agent itself reports the usage of the attempt.
    reports_usage: bool
    _hits: int = field(default=0, init=False)
    #: Guards that persons have approved: for the answer, and for the turn before its agent runs.
    _approved: tuple[str, ...] = field(default=(), init=False)
    _admitted: tuple[str, ...] = field(default=(), init=False)

    def guard(self, ask: Callable[[TurnContext], TurnOutcome]) -> TurnOutcome:
        """Return the agent's answer that passes all guards, or the answer that a person has approved.

        Raises:
            GuardStop: The turn ends otherwise.
            AgentError: The agent failed, or a callable guard did.
            StateError: The journal of the turn cannot be read or written.
        """
        hold = self._decided_hold()  # a decision counts even if the agents file has no guards any more
        held = None if hold is None else hold.outcome
        if held is None and not self.runtime.registry.guards_of(self.binding.agent):
            return ask(self.context)
        refused = self._read_refused()
        if hold is not None and held is not None and len(refused) <= hold.refused:
            return self._check_answers(held, ask)
        self._approved = ()  # another answer
        self._check_before()
        if refused and refused[-1].is_last:  # the worker died before it applied the failure policy
            raise GuardStop(GuardAction.ASK_AGAIN, _describe(refused[-1]), outcome=None)
        again = _ask_again(self.context, refused[-1]) if refused else self.context
        return self._check_answers(ask(again), ask)

    def _decided_hold(self) -> GuardHold | None:
        """Return what a person has approved for this agent; None: nothing. Raises GuardStop if it was refused."""
        waiting = self.active_turn.waiting
        hold = None if waiting is None else waiting.hold
        if hold is None or hold.verdict is None or hold.agent != self.binding.agent:
            return None
        if hold.verdict is Verdict.REFUSE:
            by = f"by {hold.by}" if hold.by else "without an answer in time"
            line = f"guard {hold.guard!r}: {hold.reason}; refused {by}"
            raise GuardStop(GuardAction.SKIP, line[:MAX_REASON], outcome=None)
        self._admitted, self._approved = hold.admitted, hold.approved
        if hold.when is GuardTime.BEFORE:
            self._admitted += (hold.guard,)
        else:
            self._approved += (hold.guard,)
        return hold

    def _check_before(self) -> None:
        text = CheckedText.of_context(self.context)
        hit = next(self._find_hits(GuardTime.BEFORE, text, None), None)
        if hit is not None:
            raise self._stop(hit, None)

    def _check_answers(self, outcome: TurnOutcome, ask: Callable[[TurnContext], TurnOutcome]) -> TurnOutcome:
        spent = outcome.usage
        while True:
            spent = self._own_usage() or spent
            outcome = outcome.model_copy(update={"usage": spent})
            hit = self._first_hit_of(outcome)
            if hit is None:
                return outcome
            if hit.entry.then is not GuardAction.ASK_AGAIN:
                raise self._stop(hit, outcome)
            refused = self._refuse(hit, outcome)
            if refused.is_last:
                raise GuardStop(GuardAction.ASK_AGAIN, _describe(refused), outcome=outcome)
            self._approved = ()  # another answer
            outcome = ask(_ask_again(self.context, refused))
            spent += outcome.usage

    def _own_usage(self) -> Usage | None:
        """Return the usage that the agent itself has reported for this attempt; None: it has reported none."""
        own = self.active_turn.own_usage
        return own if self.reports_usage and own != Usage() else None

    def _first_hit_of(self, outcome: TurnOutcome) -> Hit | None:
        try:
            return next(self._find_hits(GuardTime.AFTER, CheckedText.of_outcome(outcome), outcome), None)
        except Exception:
            if not self.reports_usage:  # the answer is paid for, even if it cannot be checked
                self.active_turn.services.store_usage(outcome.usage)
            raise

    def _find_hits(self, when: GuardTime, text: CheckedText, outcome: TurnOutcome | None) -> Iterator[Hit]:
        approved = self._admitted if when is GuardTime.BEFORE else self._approved
        for name, entry in self.runtime.registry.guards_of(self.binding.agent).items():
            if entry.when is not when or name in approved:
                continue
            if isinstance(entry, CallableGuard):
                reason = self._call(name, entry, outcome)
            else:
                reason = entry.find_fault(text)
            if reason is not None:
                secrets = self.runtime.turn_services.secrets
                yield Hit(name, entry, scrub_secrets(reason, secrets)[:MAX_REASON])

    def _call(self, name: str, entry: CallableGuard, outcome: TurnOutcome | None) -> str | None:
        check = callable_check(entry.callable, outcome, threads=self.runtime.registry.threads)
        return read_reason(name, self.run(check, self.context))

    def _refuse(self, hit: Hit, outcome: TurnOutcome) -> RefusedAnswer:
        """Store a refused answer and the event of the hit."""
        earlier = self._read_refused()
        tries = sum(it.guard == hit.guard for it in earlier)
        is_last = tries >= hit.entry.retries or not has_budget_to_ask_again(self.context, outcome)
        said = "\n\n".join(draft.content for draft in outcome.messages)[:_MOST_SHOWN]
        refused = RefusedAnswer(guard=hit.guard, reason=hit.reason, is_last=is_last, said=said)
        self._hits += 1
        action = "fail" if is_last else GuardAction.ASK_AGAIN.value
        name = f"{self._prefix}{len(earlier):04}"
        stored = GuardHit(self._hits, self._event(hit, action).data, {name: refused.model_dump_json()})
        spent = None if self._own_usage() else outcome.usage
        retry_during_outage(
            lambda: self.active_turn.services.record_hit(stored, spent=spent),
            until=write_deadline(self.runtime, self.active_turn),
            what=f"hit of guard {hit.guard!r} in turn {self.context.turn_number} of {self.context.session_id}",
        )
        return refused

    def _read_refused(self) -> list[RefusedAnswer]:
        stored = self.active_turn.services.recall_answers(self._prefix)
        part = f"the refused answers of turn {self.context.turn_number}"
        session_id = self.active_turn.session_id
        return [
            read_stored(RefusedAnswer, stored[at], session_id=session_id, part=part) for at in sorted(stored)
        ]

    @property
    def _prefix(self) -> str:
        return f"{_REFUSED}{self.binding.agent}:"

    def _stop(self, hit: Hit, outcome: TurnOutcome | None) -> GuardStop:
        entry, line = hit.entry, f"guard {hit.guard!r}: {hit.reason}"[:MAX_REASON]
        notes = (self._event(hit, entry.then.value),)
        if entry.then is not GuardAction.PARK:
            return GuardStop(entry.then, line, outcome=outcome, notes=notes)
        hold = GuardHold(
            guard=hit.guard,
            when=entry.when,
            agent=self.binding.agent,
            reason=hit.reason,
            outcome=None if outcome is None else outcome.model_copy(update={"usage": Usage()}),
            admitted=self._admitted,
            approved=self._approved,
            refused=len(self._read_refused()),
        )
        return GuardStop(entry.then, line, outcome=outcome, notes=notes, hold=hold, to=entry.to or "")

    def _event(self, hit: Hit, action: str) -> JournalNote:
        data: dict[str, JsonValue] = {
            "guard": hit.guard,
            "when": hit.entry.when.value,
            "action": action,
            "reason": scrub_text(hit.reason, secrets=self.runtime.turn_services.secrets),
            "turn_number": self.context.turn_number,
            "attempt": self.active_turn.grant.grants,
            "participant_id": self.context.me.participant_id,
            "token_id": self.active_turn.grant.token,
        }
        return JournalNote(GUARD_HIT, data)


def _ask_again(context: TurnContext, refused: RefusedAnswer) -> TurnContext:
    """Return the context in which the agent is asked again, with the reason and the refused answer."""
    parts = [
        context.instruction,
        f"Your answer was refused by the check {refused.guard!r}: {refused.reason}",
        f"Answer again, with the whole text. Your answer was:\n\n{refused.said or 'PASS'}",
    ]
    return context.model_copy(update={"instruction": "\n\n".join(filter(None, parts))})


def _describe(refused: RefusedAnswer) -> str:
    return f"guard {refused.guard!r}: {refused.reason}"[:MAX_REASON]
