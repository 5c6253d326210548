"""The agent `judge`: leads a panel, sums up what it found and settles it, without a model.

It orchestrates (everybody looks side by side, then it sums up), navigates a pair (what its driver says must be
findings that can be read), and elsewhere sums up what was said so far. It adds no findings of its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..models.dialog import Message
from ..models.review.reading import Said, read_said
from ..models.review.verdict import verdict_on
from ..models.turn import Decision, Draft, Expects, TurnContext, TurnOutcome

_ASKING = "Look at the text, each for yourself, and say what you find."
_UNREADABLE = (
    'Say it as JSON: {"findings": [{"line": 1, "rule": "...", "severity": "...", "message": "..."}]}'
)


def judge(turn: TurnContext) -> TurnOutcome:
    """Leads on, approves, or sums up."""
    match turn.expects:
        case Expects.DECISION if not _has_asked(turn):
            others = tuple(it.participant_id for it in turn.roster if it != turn.me)
            return _decided(_ASKING, Decision(next=others, side_by_side=True, instruction=_ASKING))
        case Expects.REVIEW if not _is_readable(turn):
            return _decided(_UNREADABLE, Decision(satisfied=False, reason="no findings that can be read"))
        case Expects.DECISION | Expects.REVIEW:
            summary = _summary(turn)
            return _decided(_told(summary), Decision(satisfied=True, reason=summary[:2_000]))
        case _:
            return TurnOutcome.say(_told(_summary(turn)))


def _decided(words: str, decision: Decision) -> TurnOutcome:
    return TurnOutcome(messages=(Draft(content=words),), decision=decision)


def _has_asked(turn: TurnContext) -> bool:
    """Numbers tell, too: of those it asked everybody may have passed, and its own words be out of sight."""
    return turn.turn_number > 1


def _is_readable(turn: TurnContext) -> bool:
    """Whether the newest words of the others are findings; who passed has none."""
    said = _said_by_others(turn)
    return not said or '"findings"' in said[-1].content


def _said_by_others(turn: TurnContext) -> list[Message]:
    return [it for it in turn.messages if it.speaker not in (None, turn.me.participant_id)]


def _told(summary: str) -> str:
    return json.dumps({"findings": [], "summary": summary})


def _summary(turn: TurnContext) -> str:
    """How many findings there are, how bad, by whom, and who said something else."""
    newest = {it.speaker: it for it in _said_by_others(turn) if it.speaker}
    said = {name: read_said(it.content, path="-", agent=name) for name, it in newest.items()}
    findings = [finding for it in said.values() for finding in it.findings]
    nothing = f"Nothing to mend, say {_listed(list(said))}." if said else "Nobody had anything to say."
    verdict = verdict_on(findings, where=lambda it: f"line {it.start_line}")
    return " ".join([verdict or nothing, *_remarks(said)])


def _remarks(said: dict[str, Said]) -> list[str]:
    """Words of those who found nothing that can be read as findings: a model's, in its own way."""
    return [f"{name} says: {it.summary}" for name, it in said.items() if not it.findings and it.summary]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
