"""The programs that review Python code, and what they report, as findings of one form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

#: Ruff's codes by how they begin, the first that fits: what breaks at run time matters more than how it looks.
_RUFF_SEVERITIES = (
    (("E9", "F63", "F7", "F82", "PLE"), "high"),
    (("F", "S", "B", "BLE", "PLW"), "medium"),
)
_BANDIT_CONFIDENCES = {"HIGH": 0.9, "MEDIUM": 0.6, "LOW": 0.3}


@dataclass(frozen=True, slots=True)
class ToolFinding:
    """A problem found in the code."""

    file: str
    line: int
    end_line: int
    rule: str
    severity: str
    text: str
    suggestion: str = ""
    #: From 0 to 1.
    confidence: float = 1.0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule} {' '.join(self.text.split())} ({self.severity})"

    def to_json(self) -> dict[str, object]:
        """Return the finding in the form that reviews read (`models.review.reading`)."""
        return {
            "line": self.line,
            "end_line": self.end_line,
            "rule": self.rule,
            "severity": self.severity,
            "message": self.text,
            "suggestion": self.suggestion,
            "confidence": self.confidence,
        }


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that checks a folder of Python files and reports as JSON."""

    arguments: tuple[str, ...]
    read: Callable[[Any], Iterator[ToolFinding]]


def _ruff(report: Any) -> Iterator[ToolFinding]:
    for it in report:
        rule = it["code"] or "syntax"
        yield ToolFinding(
            it["filename"],
            it["location"]["row"],
            # A finding that ends at the beginning of a line does not touch that line.
            max(it["location"]["row"], it["end_location"]["row"] - (it["end_location"]["column"] == 1)),
            rule,
            _ruff_severity(rule),
            it["message"],
            suggestion=(it.get("fix") or {}).get("message") or "",
        )


def _ruff_severity(rule: str) -> str:
    if rule in ("syntax", "invalid-syntax"):
        return "high"
    return next((severity for begins, severity in _RUFF_SEVERITIES if rule.startswith(begins)), "low")


def _bandit(report: Any) -> Iterator[ToolFinding]:
    for it in report["results"]:
        if it["test_id"] == "B101" and _is_test(it["filename"]):
            continue  # a test is made of asserts
        yield ToolFinding(
            it["filename"],
            it["line_number"],
            max([it["line_number"], *it.get("line_range", ())]),
            it["test_id"],
            it["issue_severity"].lower(),
            it["issue_text"],
            confidence=_BANDIT_CONFIDENCES.get(it["issue_confidence"], 0.5),
        )
    for it in report["errors"]:
        yield ToolFinding(it["filename"], 1, 1, "unread", "medium", it["reason"])


def _is_test(file: str) -> bool:
    name = PurePosixPath(file).stem
    return name == "conftest" or name.startswith("test_") or name.endswith("_test")


TOOLS = {
    # What depends on the project is not known here: RUF100 would call a `noqa` unused whose rule is enabled
    # there, I001 would sort its own packages among those of others.
    "ruff": Tool(
        ("check", "--isolated", "--no-cache", "--quiet", "--ignore=RUF100,I001", "--output-format=json", "."),
        _ruff,
    ),
    "bandit": Tool(("--recursive", "--quiet", "--format=json", "."), _bandit),
}
