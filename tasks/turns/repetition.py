"""Check of a turn for repetition: which turns are compared, and with which messages. Pure."""

from __future__ import annotations

from itertools import islice

from ...models.modes import mode_of
from ...models.protocol.collab import ParticipantKind
from ...models.sessions.options import Repetition
from ...models.sessions.plan import PlannedTurn
from ...models.turns.repetition import brings_nothing_new
from ...models.turns.turn import REVIEW_PARAMETER, Expects, TurnContext, TurnOutcome
from ..views.session_views import SessionFacts

#: Maximum number of recent messages with which a message is compared, and number of rounds that they cover.
_MAX_COMPARED = 20
_ROUNDS = 2
#: Minimum number of words of an answer to an instruction: `Yes.` to another instruction is no repetition.
_MIN_ANSWER_WORDS = 4


def repeats_recent_messages(
    facts: SessionFacts, planned: PlannedTurn, context: TurnContext, outcome: TurnOutcome
) -> bool:
    """Return whether a turn brings nothing new: it repeats messages that it has seen, or is only a courtesy.

    Not judged are people, decisions of an orchestrator, work items, data, reviews of files, and alignment sessions, which
    have a rule of their own. A participant that answers side by side with others is compared with itself only: the
    others' answers to the same question are agreement.
    """
    if not outcome.messages or not _is_judged(facts, planned, context, outcome):
        return False
    messages = (message for message in reversed(context.messages) if message.speaker is not None)
    recent = islice(messages, min(_MAX_COMPARED, _ROUNDS * len(context.roster)))
    before = [
        message.content
        for message in recent
        if message.speaker == planned.participant or not planned.snapshot
    ]
    return brings_nothing_new(
        "\n".join(draft.content for draft in outcome.messages),
        before=before,
        names=facts.names,
        exactly=mode_of(context.mode).has_navigator,
        min_words=_MIN_ANSWER_WORDS if planned.instruction else 1,
    )


def _is_judged(facts: SessionFacts, planned: PlannedTurn, context: TurnContext, outcome: TurnOutcome) -> bool:
    if facts.spec.options.repetition is Repetition.IGNORE or facts.spec.protocol is not None:
        return False
    if planned.expects is Expects.DECISION or planned.item is not None or planned.output or planned.reduces:
        return False
    if outcome.output is not None or outcome.hand_off or outcome.items:
        return False
    has_files = any(draft.attachments for draft in outcome.messages)
    is_review = REVIEW_PARAMETER in facts.spec.parameters
    return not (has_files or is_review) and context.me.kind is not ParticipantKind.HUMAN
