"""Marks in the text of a turn, and findings about its form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..models.alignment.marks import MAX_LABEL, MAX_MARKS, MAX_SCORED, Scores, TurnMark, TurnMarks
from ..models.alignment.vocabulary import CONVERGE_MOVE, DIMENSIONS
from .document import ContentRule, LintFinding, lint, parse, parse_markers, scan, scoreboards
from .document.findings import FormRule

_MOVE = CONVERGE_MOVE.casefold()
_DECORATION = " \t*_-"
#: Words that begin a condition.
_CONDITIONS = (
    "if ",
    "provided ",
    "unless ",
    "once ",
    "when ",
    "as long as ",
    "assuming ",
    "subject to ",
    "but only ",
)
#: Beginning of the document in which a turn is checked, as its only turn.
_HEAD = "# Turn\n\n## Round 0\n\n### Expert 🧁\n\n"
_HEAD_LINES = _HEAD.count("\n")
#: Codes of findings that a single turn can cause.
_OWN = frozenset(
    {
        FormRule.MARKER,
        FormRule.NEAR_MARKER,
        FormRule.UNCLOSED_MARKER,
        FormRule.UNCLOSED_FENCE,
        ContentRule.COLUMNS,
        ContentRule.MISSING_ID,
        ContentRule.DUPLICATE_ID,
    }
)


def read_turn_marks(texts: Sequence[str], *, scores: Mapping[str, Scores] | None = None) -> TurnMarks:
    """Return the marks of a turn. Scores given as data take precedence over a scoreboard in the text."""
    text = "\n\n".join(texts)
    marks = [
        TurnMark(
            kind=marker.type.value,
            refs=tuple(map(str, marker.refs))[:100],
            label=marker.label[:MAX_LABEL].strip(),
        )
        for marker in parse_markers(text)[:MAX_MARKS]
    ]
    return TurnMarks(
        said=tuple(marks), converges=_converges(text), scores=dict(scores or {}) or _scores(text)
    )


def _converges(text: str) -> bool:
    """Return whether the move ends a line, alone or after whole sentences, without a condition around it."""
    if CONVERGE_MOVE not in text.upper():
        return False
    lines = ["" if line.fenced else line.raw.casefold().strip().strip(_DECORATION) for line in scan(text)]
    return any(
        _is_converge_move(line.rstrip(".")) and not below.startswith(_CONDITIONS)
        for line, below in zip(lines, [*lines[1:], ""], strict=True)
    )


def _is_converge_move(line: str) -> bool:
    """Return True for `[MOVE:CONVERGE]`, and for `All is said. [MOVE:CONVERGE]`."""
    if not line.endswith(_MOVE):
        return False
    before = line.removesuffix(_MOVE).rstrip(" \t*_")
    sentence = before[max(before.rfind(mark, 0, -1) for mark in ".!?") + 1 :].lstrip(_DECORATION)
    return not before or (before[-1] in ".!" and not sentence.startswith(_CONDITIONS))


def _scores(text: str) -> dict[str, Scores]:
    if "|" not in text:
        return {}
    fields = [name.lower() for name in DIMENSIONS]
    scores_by_name: dict[str, Scores] = {}
    for board in scoreboards(parse(f"## Scores\n\n{text}")):
        for row in board.rows:
            scores = [score for score in row.scores if isinstance(score, int) and 0 <= score <= MAX_SCORED]
            if len(scores) == len(fields):
                scores_by_name[row.name.casefold()] = Scores(**dict(zip(fields, scores, strict=True)))
    return scores_by_name


def check_turn_form(texts: Sequence[str]) -> tuple[LintFinding, ...]:
    """Check the form of a turn: its markers, tables and fences, but not its headings."""
    text = "\n\n".join(texts)
    if not any(c in text for c in "[|`~"):
        return ()
    return tuple(
        finding
        for finding in lint(_HEAD + text, strict=True)
        if finding.code in _OWN and finding.line > _HEAD_LINES
    )


def format_corrections(findings: Sequence[LintFinding]) -> str:
    """Return the findings with the lines to write instead, for the agent that wrote the turn."""
    lines = [
        "Your answer does not follow the format. Send the whole answer again, with these lines corrected:",
        "",
    ]
    for finding in findings[:20]:
        lines.append(f"- line {finding.line - _HEAD_LINES}: {finding.message}")
        if finding.fix_hint is not None:
            lines.append(f"  Write: {finding.fix_hint}")
    return "\n".join(lines)
