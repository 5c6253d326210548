"""Ends of attempts that a guard has stopped: skip, abort, a question to a person, or the failure policy."""

from __future__ import annotations

import logging
from dataclasses import replace

from ...models.errors import AgentError
from ...models.turns.guard_holds import VERDICTS, GuardAction, GuardHold
from ...models.turns.turn import OutcomeKind, Question, TurnOutcome
from ..runtime.runtime import Runtime
from ..turns.active_turn import ActiveTurn, write_deadline
from ..turns.ending import apply_failure_policy, commit_turn, fail_turn
from ..turns.guards import GuardStop
from ..turns.results import FAILURE_EFFECTS, WRITTEN, TurnEnd, summarize_failure
from .parking import TurnToPark, park_turn

log = logging.getLogger(__name__)

#: Maximum characters of a held answer in the question about it; the whole answer is kept.
_MOST_SHOWN = 20_000
_KINDS = {GuardAction.SKIP: OutcomeKind.SKIPPED, GuardAction.ABORT: OutcomeKind.FAILED}


def stop_turn(runtime: Runtime, turn: TurnToPark, stop: GuardStop) -> TurnEnd:
    """Apply the action of a guard. The text of the answer is not written.

    Raises:
        StateError: The live state in Redis cannot be read or changed.
    """
    active_turn = turn.active_turn
    usage = active_turn.own_usage if stop.outcome is None else stop.outcome.usage
    silent = TurnOutcome(usage=usage)
    log.warning("turn %s of session %s: %s", active_turn.grant.number, active_turn.session_id, stop.line)
    if stop.hold is not None:
        return _park(runtime, turn, stop, stop.hold, silent)
    if stop.action is GuardAction.ASK_AGAIN:
        return apply_failure_policy(runtime, active_turn, stop.line, said=silent)
    kind = _KINDS[stop.action]
    end = commit_turn(runtime, active_turn, kind, silent, error=stop.line, notes=stop.notes)
    if end.word not in WRITTEN or kind is OutcomeKind.SKIPPED:
        return end
    return summarize_failure(end.word, stop.line, FAILURE_EFFECTS[kind], is_last=True, kind=kind)


def _park(
    runtime: Runtime, turn: TurnToPark, stop: GuardStop, hold: GuardHold, silent: TurnOutcome
) -> TurnEnd:
    active_turn: ActiveTurn = turn.active_turn
    asked = silent.model_copy(
        update={"question": Question(to=stop.to, text=_question(hold), choices=VERDICTS)}
    )
    held = replace(turn, hold=hold, notes=stop.notes)
    try:
        return park_turn(runtime, held, asked, until=write_deadline(runtime, active_turn))
    except AgentError as error:  # nobody can be asked: the turn fails, it is never approved
        active_turn.services.store_usage(silent.usage)
        return fail_turn(runtime, active_turn, error)


def _question(hold: GuardHold) -> str:
    if hold.outcome is None:
        return f"guard {hold.guard!r}: {hold.reason}\n\nMay agent {hold.agent!r} take this turn?"
    said = "\n\n".join(draft.content for draft in hold.outcome.messages)
    return f"guard {hold.guard!r}: {hold.reason}\n\nMay this answer be written?\n\n{said[:_MOST_SHOWN]}"
