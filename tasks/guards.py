"""Guards of a turn: checks before and after its agent runs, and the ends of attempts that a guard has stopped.

An answer that is refused with `ask_again` is stored in the turn's journal together with the event of the hit, before
the agent is asked again. A worker that takes over the turn of a dead worker asks for the correction only.

A guard stops an attempt with a skip, an abort, a question to a person, or the failure policy.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from ..agents.agent import AnyAgent
from ..agents.execution.failures import scrub_text
from ..agents.guards import CallableGuard, GuardEntry, callable_check, read_reason
from ..models.errors import AgentError
from ..models.guards import MAX_REASON, OTHER_TEXTS, CheckedText
from ..models.sessions.limits import has_budget_to_ask_again
from ..models.text.json_text import dump_json
from ..models.text.redact import scrub_secrets
from ..models.turns.turn import Correction, OutcomeKind, Question, TurnContext, TurnOutcome, Usage
from ..models.turns.waiting import (
    VERDICTS,
    GuardAction,
    GuardHold,
    GuardTime,
    RefusedAnswer,
    Verdict,
)
from ..state.redis.readers import read_stored
from ..state.sessions.requests import JournalNote
from ..state.turns.journal import GuardHit
from .runtime.runtime import Runtime
from .turns.ending import apply_failure_policy, commit_turn, fail_turn
from .turns.results import FAILURE_EFFECTS, WRITTEN, TurnEnd, summarize_failure
from .turns.turn import Turn, retry_during_outage
from .waiting.parking import park_turn

log = logging.getLogger(__name__)

#: Type of the event of a hit.
GUARD_HIT = "guard.hit"
#: Prefix of the journal keys of refused answers; the name of the agent and a number follow.
_REFUSED = "guard:"
#: Maximum characters of a refused answer repeated to its agent, and of the text of a held answer in the question about
#: it and of its other parts; all of it is kept.
_MAX_SHOWN = 20_000
_MAX_OTHERS = 10_000

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
class Guards:
    """The guards of one attempt of a turn."""

    runtime: Runtime
    turn: Turn
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
        if held is None and not self.runtime.agents.registry.guards_of(self.turn.agent):
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
        waiting = self.turn.waiting
        hold = None if waiting is None else waiting.hold
        if hold is None or hold.verdict is None or hold.agent != self.turn.agent:
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
        own = self.turn.own_usage
        return own if self.reports_usage and own != Usage() else None

    def _first_hit_of(self, outcome: TurnOutcome) -> Hit | None:
        try:
            return next(self._find_hits(GuardTime.AFTER, CheckedText.of_outcome(outcome), outcome), None)
        except Exception:
            if not self.reports_usage:  # the answer is paid for, even if it cannot be checked
                self.turn.journal.store_usage(outcome.usage)
            raise

    def _find_hits(self, when: GuardTime, text: CheckedText, outcome: TurnOutcome | None) -> Iterator[Hit]:
        approved = self._admitted if when is GuardTime.BEFORE else self._approved
        for name, entry in self.runtime.agents.registry.guards_of(self.turn.agent).items():
            if entry.when is not when or name in approved:
                continue
            if isinstance(entry, CallableGuard):
                reason = self._call(name, entry, outcome)
            else:
                reason = entry.find_fault(text)
            if reason is not None:
                secrets = self.runtime.agents.services.secrets
                yield Hit(name, entry, scrub_secrets(reason, secrets)[:MAX_REASON])

    def _call(self, name: str, entry: CallableGuard, outcome: TurnOutcome | None) -> str | None:
        check = callable_check(entry.callable, outcome, threads=self.runtime.agents.registry.threads)
        return read_reason(name, self.run(check, self.context))

    def _refuse(self, hit: Hit, outcome: TurnOutcome) -> RefusedAnswer:
        """Store a refused answer and the event of the hit."""
        earlier = self._read_refused()
        tries = sum(answer.guard == hit.guard for answer in earlier)
        is_last = tries >= hit.entry.retries or not has_budget_to_ask_again(self.context, outcome)
        text = "\n\n".join(draft.content for draft in outcome.messages)[:_MAX_SHOWN]
        refused = RefusedAnswer(guard=hit.guard, reason=hit.reason, is_last=is_last, said=text)
        self._hits += 1
        action = "fail" if is_last else GuardAction.ASK_AGAIN.value
        name = f"{self._prefix}{len(earlier):04}"
        stored = GuardHit(self._hits, self._event(hit, action).data, {name: refused.model_dump_json()})
        spent = None if self._own_usage() else outcome.usage
        retry_during_outage(
            lambda: self.turn.journal.record_hit(stored, spent=spent),
            until=self.turn.write_deadline,
            what=f"hit of guard {hit.guard!r} in turn {self.context.turn_number} of {self.context.session_id}",
        )
        return refused

    def _read_refused(self) -> list[RefusedAnswer]:
        stored = self.turn.journal.find_by_prefix(self._prefix)
        part = f"the refused answers of turn {self.context.turn_number}"
        session_id = self.turn.session_id
        return [
            read_stored(RefusedAnswer, stored[at], session_id=session_id, part=part) for at in sorted(stored)
        ]

    @property
    def _prefix(self) -> str:
        return f"{_REFUSED}{self.turn.agent}:"

    def _stop(self, hit: Hit, outcome: TurnOutcome | None) -> GuardStop:
        entry, line = hit.entry, f"guard {hit.guard!r}: {hit.reason}"[:MAX_REASON]
        notes = (self._event(hit, entry.then.value),)
        if entry.then is not GuardAction.PARK:
            return GuardStop(entry.then, line, outcome=outcome, notes=notes)
        hold = GuardHold(
            guard=hit.guard,
            when=entry.when,
            agent=self.turn.agent,
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
            "reason": scrub_text(hit.reason, secrets=self.runtime.agents.services.secrets),
            "turn_number": self.context.turn_number,
            "attempt": self.turn.grant.grants,
            "participant_id": self.context.me.participant_id,
            "token_id": self.turn.grant.token,
        }
        return JournalNote(GUARD_HIT, data)


def _ask_again(context: TurnContext, refused: RefusedAnswer) -> TurnContext:
    """Return the context in which the agent is asked again, with the reason and the refused answer."""
    fault = f"the check {refused.guard!r} refused it: {refused.reason}"
    return context.asked_again(
        Correction(fault=fault, answer=refused.said),
        f"Your answer was refused by the check {refused.guard!r}: {refused.reason}",
        f"Answer again, with the whole text. Your answer was:\n\n{refused.said or 'PASS'}",
    )


def _describe(refused: RefusedAnswer) -> str:
    return f"guard {refused.guard!r}: {refused.reason}"[:MAX_REASON]


_KINDS = {GuardAction.SKIP: OutcomeKind.SKIPPED, GuardAction.ABORT: OutcomeKind.FAILED}


def stop_turn(runtime: Runtime, turn: Turn, context: TurnContext, stop: GuardStop) -> TurnEnd:
    """Apply the action of a guard. The text of the answer is not written.

    Raises:
        StateError: The live state in Redis cannot be read or changed.
    """
    usage = turn.own_usage if stop.outcome is None else stop.outcome.usage
    silent = TurnOutcome(usage=usage)
    log.warning("turn %s of session %s: %s", turn.number, turn.session_id, stop.line)
    if stop.hold is not None:
        return _hold(runtime, turn, context, stop, stop.hold, silent)
    if stop.action is GuardAction.ASK_AGAIN:
        return apply_failure_policy(runtime, turn, stop.line, said=silent)
    kind = _KINDS[stop.action]
    end = commit_turn(runtime, turn, kind, silent, error=stop.line, notes=stop.notes)
    if end.word not in WRITTEN or kind is OutcomeKind.SKIPPED:
        return end
    return summarize_failure(end.word, stop.line, FAILURE_EFFECTS[kind], is_last=True, kind=kind)


def _hold(
    runtime: Runtime, turn: Turn, context: TurnContext, stop: GuardStop, hold: GuardHold, silent: TurnOutcome
) -> TurnEnd:
    """Park the turn with a question about what the guard holds."""
    question = Question(to=stop.to, text=_question(hold), choices=VERDICTS)
    with_question = silent.model_copy(update={"question": question})
    try:
        return park_turn(runtime, turn, context, with_question, hold=hold, notes=stop.notes)
    except AgentError as error:  # the person cannot be asked: the turn fails, it is never approved
        turn.journal.store_usage(silent.usage)
        notes = tuple(JournalNote(note.event_type, {**note.data, "action": "fail"}) for note in stop.notes)
        return fail_turn(runtime, turn, error, notes=notes)


def _question(hold: GuardHold) -> str:
    if hold.outcome is None:
        return f"guard {hold.guard!r}: {hold.reason}\n\nMay agent {hold.agent!r} take this turn?"
    parts = (
        f"guard {hold.guard!r}: {hold.reason}",
        "May this answer be written?",
        _shorten("\n\n".join(draft.content for draft in hold.outcome.messages), _MAX_SHOWN),
        _shorten(_other_parts(hold.outcome), _MAX_OTHERS),
    )
    return "\n\n".join(filter(None, parts))


def _other_parts(outcome: TurnOutcome) -> str:
    """Return the files of an answer, one a line, and all that it has beside its text as JSON."""
    files = [attachment.line for draft in outcome.messages for attachment in draft.attachments]
    others = outcome.model_dump(mode="json", include=OTHER_TEXTS, exclude_defaults=True)
    if [draft.content for draft in outcome.messages] == [dump_json(outcome.output)]:
        del others["output"]  # it is the text
    return "\n".join((*files, *([dump_json(others)] if others else ())))


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}\n[the first {length} of {len(text)} characters]"
