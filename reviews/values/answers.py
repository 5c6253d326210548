"""Parser of findings in a reviewer's message: tolerant of model output, with limits on all sizes.

    {"findings": [{"file": "app.py", "side": "new", "line": 3, "end_line": 4, "quote": "...", "kind": "access",
                   "severity": "high", "confidence": 0.8, "title": "...", "why": "...", "assumes": "", "fix": "...",
                   "replacement": "..."}], "summary": "..."}

Programs may name a `rule`, a `message` and a `suggestion` instead.

The object is the whole message, a fenced block of it, or between its words. The output of an analysis program
may replace it: see `tool_outputs`. A message without such an object has no findings; its text is the
summary.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from ...models.severity import Severity
from ...models.text.json_text import find_json
from ...models.text.paths import MAX_PATH
from .findings import MAX_LINE, MAX_MESSAGE, MAX_QUOTE, MAX_RULE, MAX_SUGGESTION, Category, Finding, Side
from .tool_outputs import read_tool_output

#: Findings that are taken from one message, the most severe ones.
MAX_FINDINGS = 500
#: Characters of a summary that are kept.
MAX_SUMMARY = 8_000
#: Rule of a finding without a rule.
UNNAMED_RULE = "remark"

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LINES = re.compile(r"\s*(\d{1,9})(?:\s*(?:-|\u2013|:|to)\s*(\d{1,9}))?\s*")
_SEVERITIES = {
    **{severity.value: severity for severity in Severity},
    **dict.fromkeys(("blocker", "fatal", "severe"), Severity.CRITICAL),
    **dict.fromkeys(("error", "major", "serious"), Severity.HIGH),
    **dict.fromkeys(("warning", "warn", "moderate"), Severity.MEDIUM),
    **dict.fromkeys(("minor", "trivial", "style"), Severity.LOW),
    **dict.fromkeys(("note", "information", "informational", "hint", "none"), Severity.INFO),
}
_CATEGORIES = frozenset(Category)
#: Words for the text before a change.
_OLD_SIDES = frozenset({"old", "left", "before", "removed", "-"})
_CONFIDENCES = {"high": 0.9, "medium": 0.6, "low": 0.3}
#: Confidence of a finding without one.
_DEFAULT_CONFIDENCE = 0.5


class ReviewerAnswer(NamedTuple):
    """The answer of a reviewer about an item."""

    findings: tuple[Finding, ...]
    summary: str
    #: Findings that were not taken: without a message, or too many, also those that a program left out itself.
    left_out: int = 0
    #: Whether the message has a list of findings, even an empty one.
    has_findings_list: bool = False


def parse_reviewer_answer(text: str, *, path: str, agent: str, paths: Sequence[str] = ()) -> ReviewerAnswer:
    """Return the findings in a message of `agent` (a participant id) about the item at `path`.

    Every finding is about that item, even if it names another path: the agent has seen no other. If it has seen
    several (`paths`), a finding must name one of them.
    """
    data, rest = _object_in(text)
    if data is None:
        return ReviewerAnswer((), _clean(text, MAX_SUMMARY))
    raw = data.get("findings")
    entries = raw if isinstance(raw, list) else []
    parsed = [_finding(entry, path, agent, paths) for entry in _most_severe(entries)]
    findings = tuple(finding for finding in parsed if finding is not None)
    summary = data.get("summary")
    return ReviewerAnswer(
        findings,
        _clean(summary if isinstance(summary, str) else rest, MAX_SUMMARY),
        left_out=len(entries) - len(findings) + _left_out(data),
        has_findings_list=isinstance(raw, list),
    )


def _most_severe(entries: Sequence[object]) -> Sequence[object]:
    """Return the entries up to the maximum, in the order given; the least severe ones are left out."""
    if len(entries) <= MAX_FINDINGS:
        return entries
    ranks = [
        read_severity(entry.get("severity")).rank if isinstance(entry, Mapping) else -1 for entry in entries
    ]
    order = sorted(range(len(entries)), key=lambda at: -ranks[at])
    return [entries[at] for at in sorted(order[:MAX_FINDINGS])]


def _left_out(data: Mapping[str, Any]) -> int:
    """Return the number of findings that a program says it left out."""
    raw = data.get("left_out")
    return raw if isinstance(raw, int) and not isinstance(raw, bool) and 0 <= raw <= MAX_LINE else 0


def read_entries(text: str, name: str) -> list[Mapping[str, Any]]:
    """Return the objects of the list `name` in a message; empty if there is none."""
    for data, _ in find_json(text):
        if isinstance(data, dict) and isinstance(data.get(name), list):
            return [entry for entry in data[name][:MAX_FINDINGS] if isinstance(entry, dict)]
    return []


def read_line(entry: Mapping[str, Any]) -> int:
    """Return the first line that an entry names; 0: none."""
    return _lines(entry)[0]


def _object_in(text: str) -> tuple[Mapping[str, Any] | None, str]:
    """Return the object of findings, and the words around it. A bare list is one of findings."""
    for data, rest in find_json(text):
        if (entries := read_tool_output(data)) is not None:
            return {"findings": entries}, rest
        if (
            isinstance(data, list)
            and all(isinstance(entry, dict) for entry in data)
            and (data or not rest.strip())
        ):
            return {"findings": data}, rest
        if isinstance(data, dict) and ("findings" in data or "summary" in data):
            return data, rest
    return None, text


def read_rule(entry: Mapping[str, Any], *names: str) -> str:
    """Return the rule of an entry, in one line; the first of these fields counts that is text."""
    return " ".join(read_text(entry, *names, limit=MAX_RULE).split()) or UNNAMED_RULE


def _finding(entry: object, path: str, agent: str, paths: Sequence[str]) -> Finding | None:
    if not isinstance(entry, Mapping):
        return None
    path = read_path(entry, paths) if len(paths) > 1 else path
    start, end = _lines(entry)
    assumes = read_text(entry, "assumes", limit=MAX_MESSAGE)
    why = read_text(entry, "why", "reason", limit=MAX_MESSAGE)
    is_old = str(entry.get("side", "")).strip().casefold() in _OLD_SIDES
    try:
        return Finding(
            path=path,
            start_line=start,
            end_line=end,
            rule=read_rule(entry, "rule", "kind", "code"),
            severity=read_severity(entry.get("severity")),
            message=read_text(entry, "message", "title", "description", limit=MAX_MESSAGE),
            why=_clean(f"{why}\nAssumed: {assumes}" if assumes else why, MAX_MESSAGE),
            category=read_category(entry.get("kind")),
            side=Side.LEFT if is_old else Side.RIGHT,
            quote=_quote(entry.get("quote")),
            replacement=None if is_old else _replacement(entry.get("replacement")),
            suggestion=read_text(entry, "suggestion", "fix", limit=MAX_SUGGESTION),
            agents=(agent,),
            confidence=read_confidence(entry.get("confidence")),
        )
    except ValidationError:  # it says nothing, or names no file
        return None


def read_category(raw: object) -> Category | None:
    """Return the kind of a defect; None: it is none of the known kinds."""
    word = raw.strip().casefold().replace("_", "-").replace(" ", "-") if isinstance(raw, str) else ""
    return Category(word) if word in _CATEGORIES else None


def read_path(entry: Mapping[str, Any], paths: Sequence[str]) -> str:
    """Return the path that an entry names, of these; empty: none, or it is not clear which."""
    named = read_text(entry, "file", "path", limit=MAX_PATH)
    if named in paths:
        return named
    ends = [path for path in paths if named and (path.endswith(f"/{named}") or named.endswith(f"/{path}"))]
    return ends[0] if len(ends) == 1 else ""


def _quote(raw: object) -> str:
    """Return the first line of a quote that is not blank; its white space is part of it."""
    lines = _UNSEEN.sub("", raw).split("\n") if isinstance(raw, str) else []
    return next((line[:MAX_QUOTE] for line in lines if line.strip()), "")


def _replacement(raw: object) -> str | None:
    """Return a patch with its white space; None: there is none, or it is too long to be applied as a whole."""
    if not isinstance(raw, str) or len(raw) > MAX_SUGGESTION:
        return None
    return _UNSEEN.sub("", raw.replace("\r\n", "\n")).removesuffix("\n")


def read_text(entry: Mapping[str, Any], *names: str, limit: int) -> str:
    """Return the text of the first of these fields that has any, cleaned; empty: none has."""
    text = next((entry[name] for name in names if isinstance(entry.get(name), str)), "")
    return _clean(text, limit)


def _clean(text: str, limit: int) -> str:
    """Remove control and invisible characters; line ends and tabs stay."""
    cleaned = _UNSEEN.sub("", text.replace("\r\n", "\n")).strip()
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1].rstrip() + "…"


def _lines(entry: Mapping[str, Any]) -> tuple[int, int]:
    first, last = _line(entry, "line", "start_line", "startLine"), _line(entry, "end_line", "endLine")
    start = first[0]
    return start, max(start, last[0] or first[1])


def _line(entry: Mapping[str, Any], *names: str) -> tuple[int, int]:
    """Return a line or `from-to`; 0 for none."""
    raw = next((entry[name] for name in names if entry.get(name) is not None), 0)
    if isinstance(raw, str) and (match := _LINES.fullmatch(raw)):
        return int(match[1]), int(match[2] or match[1])
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 < raw <= MAX_LINE:
        return 0, 0
    return int(raw), int(raw)


def read_severity(raw: object) -> Severity:
    """Return a severity; `medium` for an unknown word."""
    word = raw.strip().casefold() if isinstance(raw, str) else ""
    return _SEVERITIES.get(word, Severity.MEDIUM)


def read_confidence(raw: object) -> float:
    """Return a confidence from 0 to 1; percentages and words are read too."""
    if isinstance(raw, str):
        word = raw.strip().casefold()
        if word in _CONFIDENCES:
            return _CONFIDENCES[word]
        try:
            raw = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
        except ValueError:
            return _DEFAULT_CONFIDENCE
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not math.isfinite(raw):
        return _DEFAULT_CONFIDENCE
    share = raw / 100 if raw > 1 else raw
    return float(min(max(share, 0), 1))
