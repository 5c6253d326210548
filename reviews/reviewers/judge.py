"""The agent `judge`: orchestrates a panel, sums up its findings and ends the review, without a model.

As an orchestrator it lets all reviewers work in parallel, then the verifiers, and then sums up. As the navigator of a pair it
checks that the driver's findings can be parsed. In other roles it sums up the messages so far. It adds no
findings.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...models.protocol.dialog import Message
from ...models.turns.turn import Decision, DraftMessage, Expects, TurnContext, TurnOutcome
from ..values.answers import ReviewerAnswer, parse_reviewer_answer
from ..values.checks import VERIFIER, VERIFYING
from ..values.findings import summarise_findings

#: Request of the judge to the reviewers.
ASKING = "Review the text, each on your own, and report your findings."
_UNREADABLE = 'Report your findings as JSON: {"findings": [{"line": 1, "rule": "...", "severity": "...", "message": "..."}]}'


def judge(turn: TurnContext) -> TurnOutcome:
    """Give the turn to the reviewers, approve, or sum up."""
    match turn.expects:
        case Expects.DECISION if not _has_asked(turn):
            reviewers = _reviewers(turn)
            return _decided(ASKING, Decision(next=reviewers, side_by_side=True, instruction=ASKING))
        case Expects.DECISION if (verifiers := _waiting_verifiers(turn)) and _has_findings(turn):
            return _decided(VERIFYING, Decision(next=verifiers, side_by_side=True, instruction=VERIFYING))
        case Expects.REVIEW if not _is_readable(turn):
            return _decided(_UNREADABLE, Decision(satisfied=False, reason="no readable findings"))
        case Expects.DECISION | Expects.REVIEW:
            summary = _summary(turn)
            return _decided(_summary_json(summary), Decision(satisfied=True, reason=summary[:2_000]))
        case _:
            return TurnOutcome.say(_summary_json(_summary(turn)))


def _decided(text: str, decision: Decision) -> TurnOutcome:
    return TurnOutcome(messages=(DraftMessage(content=text),), decision=decision)


def _has_asked(turn: TurnContext) -> bool:
    """Return whether the judge has asked before.

    The turn number shows it even if all others passed and the judge's message is no longer in the window.
    """
    return turn.turn_number > 1


def _reviewers(turn: TurnContext) -> tuple[str, ...]:
    return tuple(
        participant.participant_id
        for participant in turn.roster
        if participant != turn.me and participant.role_id != VERIFIER
    ) or _verifiers(turn)


def _verifiers(turn: TurnContext) -> tuple[str, ...]:
    return tuple(
        participant.participant_id
        for participant in turn.roster
        if participant != turn.me and participant.role_id == VERIFIER
    )


def _waiting_verifiers(turn: TurnContext) -> tuple[str, ...]:
    """Return the verifiers; empty if they were asked before."""
    mine = (message.content for message in turn.messages if message.speaker == turn.me.participant_id)
    return () if VERIFYING in mine else _verifiers(turn)


def _has_findings(turn: TurnContext) -> bool:
    answers = (
        parse_reviewer_answer(message.content, path="-", agent="-") for message in _said_by_others(turn)
    )
    return any(answer.findings for answer in answers)


def _is_readable(turn: TurnContext) -> bool:
    """Return whether the newest message of the others has a list of findings; a pass has none, and is accepted."""
    messages = _said_by_others(turn)
    return not messages or parse_reviewer_answer(messages[-1].content, path="-", agent="-").has_findings_list


def _said_by_others(turn: TurnContext) -> list[Message]:
    return [message for message in turn.messages if message.speaker not in (None, turn.me.participant_id)]


def _summary_json(summary: str) -> str:
    return json.dumps({"findings": [], "summary": summary})


def _summary(turn: TurnContext) -> str:
    """Return the number of findings, their severities and reviewers, and other remarks."""
    verifiers = _verifiers(turn)
    newest = {
        message.speaker: message
        for message in _said_by_others(turn)
        if message.speaker and message.speaker not in verifiers
    }
    answers = {
        name: parse_reviewer_answer(message.content, path="-", agent=name) for name, message in newest.items()
    }
    findings = [finding for answer in answers.values() for finding in answer.findings]
    nothing = f"Nothing to fix, say {_listed(list(answers))}." if answers else "No one had anything to say."
    verdict = summarise_findings(findings, where=lambda finding: f"line {finding.start_line}")
    return " ".join([verdict or nothing, *_remarks(answers)])


def _remarks(answers: dict[str, ReviewerAnswer]) -> list[str]:
    """Return messages without parsable findings, such as free text of a model."""
    return [
        f"{name} says: {answer.summary}"
        for name, answer in answers.items()
        if not answer.findings and answer.summary
    ]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
