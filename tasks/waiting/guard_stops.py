"""Ends of attempts that a guard has stopped: skip, abort, a question to a person, or the failure policy."""

from __future__ import annotations

import logging
from dataclasses import replace

from ...models.errors import AgentError
from ...models.guards import OTHER_TEXTS
from ...models.text.json_text import dump_json
from ...models.turns.turn import OutcomeKind, Question, TurnOutcome
from ...models.turns.waiting import VERDICTS, GuardAction, GuardHold
from ...state.sessions.requests import JournalNote
from ..runtime.runtime import Runtime
from ..turns.active_turn import ActiveTurn, write_deadline
from ..turns.ending import apply_failure_policy, commit_turn, fail_turn
from ..turns.guards import GuardStop
from ..turns.results import FAILURE_EFFECTS, WRITTEN, TurnEnd, summarize_failure
from .parking import TurnToPark, park_turn

log = logging.getLogger(__name__)

#: Maximum characters of the text of a held answer in the question about it, and of its other parts; all of it is kept.
_MOST_SHOWN = 20_000
_MOST_OTHERS = 10_000
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
    except AgentError as error:  # the person cannot be asked: the turn fails, it is never approved
        active_turn.services.store_usage(silent.usage)
        notes = tuple(JournalNote(it.event_type, {**it.data, "action": "fail"}) for it in stop.notes)
        return fail_turn(runtime, active_turn, error, notes=notes)


def _question(hold: GuardHold) -> str:
    if hold.outcome is None:
        return f"guard {hold.guard!r}: {hold.reason}\n\nMay agent {hold.agent!r} take this turn?"
    parts = (
        f"guard {hold.guard!r}: {hold.reason}",
        "May this answer be written?",
        _shorten("\n\n".join(draft.content for draft in hold.outcome.messages), _MOST_SHOWN),
        _shorten(_other_parts(hold.outcome), _MOST_OTHERS),
    )
    return "\n\n".join(filter(None, parts))


def _other_parts(outcome: TurnOutcome) -> str:
    """Return the files of an answer, one a line, and all that it has beside its text as JSON."""
    files = [it.line for draft in outcome.messages for it in draft.attachments]
    others = outcome.model_dump(mode="json", include=OTHER_TEXTS, exclude_defaults=True)
    if [draft.content for draft in outcome.messages] == [dump_json(outcome.output)]:
        del others["output"]  # it is the text
    return "\n".join((*files, *([dump_json(others)] if others else ())))


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}\n[the first {length} of {len(text)} characters]"
