"""The reviewers `ruff`, `bandit` and `inspector` (both): programs of `command` agents that review code.

    python -m symposia.agents.reviewers.code ruff [OPTIONS OF RUFF]

The program reads a turn as JSON on standard input, extracts the Python code of the newest message that
contains any (fenced blocks; `app.py` in "```python app.py" becomes the file's name), and prints the findings
of the tool, one per line. Without findings, a pair's review begins with `APPROVED:`; without code, the
output is `PASS`. Only the text of the dialog is reviewed: no file of the machine, no configuration of it.

In a batch review (the session's parameter `review`) the code is that of the reviewed item, with its path and
the settings of its project, and the findings are printed as JSON: see `reviews.values.answers`.

Fenced blocks of Markdown carry text unchanged inside a message, even if it contains fences; the reviewers of
documents read them with the same functions.

Each turn starts a process, so this module imports nothing that is slow to import.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from ...models.text.numbered_lines import (
    CHANGED,
    NUMBERED,
    join_lines,
    read_change_lines,
    remove_numbers,
)
from .workspace import bandit_options, is_safe_path, workspace

_FENCE = re.compile(r"[ \t]*(`{3,})([^`]*)")
_SHORTEST = 3


def fence_text(text: str, info: str = "") -> str:
    """Return `text` as a block between fences that are longer than any fence in it."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(longest + 1, _SHORTEST)
    ending = "" if text.endswith("\n") else "\n"
    return f"{fence}{info}\n{text}{ending}{fence}"


def fenced_blocks(text: str, *, with_numbers: bool = False) -> Iterator[tuple[str, str]]:
    """Yield info and text of each closed block; the closing fence is at least as long (CommonMark 4.5).

    Numbers that a review puts in front of the lines for models are removed, unless `with_numbers`; of a change,
    the new lines that are shown stay.
    """
    fence, info, lines = "", "", list[str]()
    for line in text.split("\n"):
        match = _FENCE.fullmatch(line)
        if fence and match and len(match[1]) >= len(fence) and not match[2].strip():
            body = "".join(f"{body_line}\n" for body_line in lines)
            yield info, body if with_numbers else _plain_text(body, info.split())
            fence = ""
        elif fence:
            lines.append(line)
        elif match:
            fence, info, lines = match[1], match[2].strip(), []


def _plain_text(body: str, info: Sequence[str]) -> str:
    if CHANGED in info:
        return join_lines(read_change_lines(body).new)
    return remove_numbers(body) if NUMBERED in info else body


#: Severities by prefix of Ruff's codes; the first match counts. Run-time errors are more severe than style.
_RUFF_SEVERITIES = (
    (("E9", "F63", "F7", "F82", "PLE"), "high"),
    (("F", "S", "B", "BLE", "PLW"), "medium"),
)
_SEVERITIES = ("high", "medium", "low")
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
        """Return the finding in the form that reviews read (`reviews.values.answers`)."""
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
    """A program that checks Python files and reports as JSON."""

    arguments: tuple[str, ...]
    read: Callable[[Any], Iterator[ToolFinding]]
    #: Options for the settings of the project.
    options: Callable[[Mapping[str, Any]], list[str]] = lambda _: []


def _ruff(report: Any) -> Iterator[ToolFinding]:
    for entry in report:
        rule = entry["code"] or "syntax"
        yield ToolFinding(
            entry["filename"],
            entry["location"]["row"],
            # A finding that ends in column 1 of a line does not include that line.
            max(
                entry["location"]["row"],
                entry["end_location"]["row"] - (entry["end_location"]["column"] == 1),
            ),
            rule,
            _ruff_severity(rule),
            entry["message"],
            suggestion=(entry.get("fix") or {}).get("message") or "",
        )


def _ruff_severity(rule: str) -> str:
    if rule in ("syntax", "invalid-syntax"):
        return "high"
    return next((severity for begins, severity in _RUFF_SEVERITIES if rule.startswith(begins)), "low")


def _bandit(report: Any) -> Iterator[ToolFinding]:
    for entry in report["results"]:
        if entry["test_id"] == "B101" and _is_test(entry["filename"]):
            continue  # asserts are normal in tests
        yield ToolFinding(
            entry["filename"],
            entry["line_number"],
            max([entry["line_number"], *entry.get("line_range", ())]),
            entry["test_id"],
            entry["issue_severity"].lower(),
            entry["issue_text"],
            confidence=_BANDIT_CONFIDENCES.get(entry["issue_confidence"], 0.5),
        )
    for entry in report["errors"]:
        yield ToolFinding(entry["filename"], 1, 1, "unread", "medium", entry["reason"])


def _is_test(file: str) -> bool:
    name = PurePosixPath(file).stem
    return name == "conftest" or name.startswith("test_") or name.endswith("_test")


TOOLS = {
    "ruff": Tool(
        # Excluded files are checked otherwise, because they are named.
        ("check", "--no-cache", "--no-fix", "--quiet", "--force-exclude", "--output-format=json"),
        _ruff,
    ),
    "bandit": Tool(("--quiet", "--format=json"), _bandit, bandit_options),
}


#: Maximum number of findings listed, the most severe ones; the rest is only counted.
MAX_LISTED = 200
#: Name of the reviewer that runs all tools.
_ALL = "inspector"
_LANGUAGES = ("python", "py", "python3")
_FILE_NAME = re.compile(r"[\w.-]{1,100}\.pyi?")

#: A `TurnContext` as parsed JSON.
Turn = Mapping[str, Any]


def review_of(turn: Turn) -> Mapping[str, Any] | None:
    """Return the path and settings that a batch review gave its session; None: not a batch review."""
    review = (turn.get("parameters") or {}).get("review")
    return review if isinstance(review, Mapping) else None


def extract_code(turn: Turn) -> dict[str, str]:
    """Return the Python code by file name: of the work item, or of the newest message that contains any.

    In a batch review it is that of the reviewed item, in the first message.
    """
    item, messages = turn.get("item"), turn.get("messages") or ()
    review = review_of(turn)
    if review is not None and messages:
        blocks = list(_python_in(messages[0]["content"]))[:1]
        path = str(review.get("path", ""))
        return {path if is_safe_path(path) else name: body for name, body in blocks}
    texts = [item["text"]] if item else []
    texts += [message["content"] for message in reversed(messages)]
    return next((code for text in texts if (code := dict(_python_in(text)))), {})


def _python_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the file name and text of each fenced block of Python."""
    count = 0
    for info, body in fenced_blocks(text):
        words = info.split()
        if words and words[0].lower() in _LANGUAGES:
            count += 1
            yield _file_name(words[1:], count), body


def _file_name(words: Sequence[str], count: int) -> str:
    name = PurePosixPath(words[0]).name if words else ""
    return name if _FILE_NAME.fullmatch(name) else f"block{count}.py"


def review_turn(name: str, turn: Turn, options: Sequence[str] = ()) -> str:
    """Return the output of a reviewer for the code of a turn. Raises RuntimeError: a tool cannot be run."""
    code = extract_code(turn)
    if not code:
        return "PASS"
    names = tuple(TOOLS) if name == _ALL else (name,)
    review = review_of(turn)
    settings = (review or {}).get("settings") or {}
    findings = [finding for tool in names for finding in _findings(tool, code, options, settings)]
    findings.sort(key=lambda finding: (finding.file, finding.line, finding.rule))
    return _as_json(name, findings) if review is not None else _as_text(name, findings, code, turn)


def _most_severe(findings: Sequence[ToolFinding]) -> list[ToolFinding]:
    """Return the most severe findings up to the maximum, in the order given."""
    ranks = {severity: rank for rank, severity in enumerate(_SEVERITIES)}
    order = sorted(range(len(findings)), key=lambda index: ranks.get(findings[index].severity, len(ranks)))
    return [findings[index] for index in sorted(order[:MAX_LISTED])]


def _as_json(name: str, findings: Sequence[ToolFinding]) -> str:
    summary = f"{name} found {len(findings) or 'nothing'} to fix"
    listed = _most_severe(findings)
    left_out = len(findings) - len(listed)
    if left_out:
        summary += f"; only the {MAX_LISTED} most severe are listed"
    return json.dumps(
        {"findings": [finding.to_json() for finding in listed], "left_out": left_out, "summary": summary}
    )


def _as_text(name: str, findings: Sequence[ToolFinding], code: Mapping[str, str], turn: Turn) -> str:
    if findings:
        lines = [f"- {finding}" for finding in _most_severe(findings)]
        return "\n".join([f"{name} found {len(findings)} to fix:", *lines])
    text = f"{name} found nothing to fix in {', '.join(sorted(code))}"
    return f"APPROVED: {text}" if turn.get("expects") == "review" else text


def _findings(
    name: str, code: Mapping[str, str], options: Sequence[str], settings: Mapping[str, Any]
) -> Iterator[ToolFinding]:
    if find_spec(name) is None:
        raise RuntimeError(f"{name} is not installed: pip install 'symposia[review]'")
    tool = TOOLS[name]
    with workspace(code, settings) as folder:
        done = subprocess.run(
            # -P: a reviewed file may have the name of a module that the tool imports.
            [
                sys.executable,
                "-P",
                "-m",
                name,
                *tool.arguments,  # first: they begin with the command of the tool
                *options,
                *tool.options(settings),
                "--",
                *code,
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    try:
        findings = list(tool.read(json.loads(done.stdout)))
    except (ValueError, TypeError, KeyError):
        last = done.stderr.strip().rpartition("\n")[2]
        raise RuntimeError(f"{name} failed with exit code {done.returncode}: {last}") from None
    yield from (replace(finding, file=Path(finding.file).name) for finding in findings)


def main() -> None:
    """Review the turn on standard input; exit with 1 if that is not possible."""
    name, *options = sys.argv[1:]
    try:
        print(review_turn(name, json.load(sys.stdin), options))  # noqa: T201 - the output of the program
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
