"""Checks of an answer: text that it contains, a regular expression, a value that it is equal to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from ..models.text.json_text import dump_json, parse_json
from ..models.text.patterns import matches
from .cases import Case
from .results import ScoreResult
from .scorers import EXPECT, Scorer, ScorerKind


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a session: the text of its last message, and its output if it has one."""

    text: str
    output: JsonValue = None

    @property
    def value(self) -> JsonValue:
        """The output; without one, the text as JSON if it is JSON, else the text."""
        if self.output is not None:
            return self.output
        try:
            return parse_json(self.text)  # type: ignore[no-any-return]
        except ValueError:
            return self.text


def check_answer(scorer: Scorer, case: Case, answer: Answer) -> ScoreResult:
    """Return the score of a check: 1 if the answer passes, else 0."""
    try:
        found: Any = _field(answer.value, scorer.field) if scorer.field else None
    except LookupError:
        return ScoreResult(scorer.label, 0.0, f"the answer has no field {scorer.field!r}")
    match scorer.kind:
        case ScorerKind.EQUALS:
            wanted = case.expect if scorer.equals == EXPECT else scorer.equals
            passes = _is_equal(found if scorer.field else answer, wanted)
        case ScorerKind.CONTAINS:
            text = (scorer.contains or "").replace(EXPECT, text_of(case.expect))
            passes, wanted = text in _checked_text(scorer, answer, found), text
        case _:
            wanted = scorer.regex
            passes = matches(scorer.regex or "", _checked_text(scorer, answer, found))
    return ScoreResult(
        scorer.label, float(passes), "" if passes else f"not {scorer.kind}: {text_of(wanted)[:200]}"
    )


def _checked_text(scorer: Scorer, answer: Answer, found: Any) -> str:
    return text_of(found) if scorer.field else answer.text


def _is_equal(found: Any, wanted: JsonValue) -> bool:
    """Compare JSON data, in which `true` is not 1; a text is also compared with the whole answer."""
    if isinstance(found, Answer):
        if isinstance(wanted, str) and found.text.strip() == wanted.strip():
            return True
        found = found.value
    return dump_json(_comparable(found)) == dump_json(_comparable(wanted))


def _comparable(data: Any) -> Any:
    """Return data with keys in order, in which equal numbers are written alike."""
    if isinstance(data, dict):
        return {name: _comparable(data[name]) for name in sorted(data)}
    if isinstance(data, list):
        return [_comparable(it) for it in data]
    return int(data) if isinstance(data, float) and data.is_integer() else data


def _field(value: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(value, dict):
            value = value[step]
        elif isinstance(value, list) and step.isdecimal():
            value = value[int(step)]
        else:
            raise LookupError(step)
    return value


def text_of(value: JsonValue) -> str:
    """Return a text as it is, and other data as JSON."""
    return value if isinstance(value, str) else dump_json(value)
