"""The reviewers `ruff`, `bandit` and `inspector` (both): programs for `command` agents that review code in a dialog.

    python -m symposia.agents.reviewers.code ruff [OPTIONS OF RUFF]

Reads a turn as JSON on standard input, takes the Python code out of the newest message that has
some (fenced blocks; `app.py` in "```python app.py" becomes the file's name), and prints the
findings of the tool, one line a finding. Without findings, a pair's review begins with `APPROVED:`; no
code at all is a `PASS`. Only the text of the dialog is reviewed: no file of the machine, no configuration.

In a batch review (the session's parameter `review`) findings are printed as JSON instead: see
`models.review.reading`.

One process a turn: nothing that is slow to import is imported here.
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
from tempfile import TemporaryDirectory
from typing import Any

from .markdown_fences import fenced_blocks

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


#: Maximum number of findings listed; the rest is only counted.
MAX_LISTED = 200
#: What the inspector looks with.
_ALL = "inspector"
_LANGUAGES = ("python", "py", "python3")
_FILE_NAME = re.compile(r"[\w.-]{1,100}\.pyi?")

#: A `TurnContext`, as JSON has it.
Turn = Mapping[str, Any]


def extract_code(turn: Turn) -> dict[str, str]:
    """The Python code to look at, by file name: of the work item, or the newest message that has some."""
    item, messages = turn.get("item"), turn.get("messages") or ()
    texts = [item["text"]] if item else []
    texts += [message["content"] for message in reversed(messages)]
    return next((code for text in texts if (code := dict(_python_in(text)))), {})


def _python_in(text: str) -> Iterator[tuple[str, str]]:
    """Fenced blocks of Python, by file name."""
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
    """What a tool says to the code of a turn. Raises RuntimeError when it cannot be run."""
    code = extract_code(turn)
    if not code:
        return "PASS"
    names = tuple(TOOLS) if name == _ALL else (name,)
    findings = [finding for tool in names for finding in _findings(tool, code, options)]
    findings.sort(key=lambda it: (it.file, it.line, it.rule))
    is_batch = "review" in (turn.get("parameters") or {})
    return _as_json(name, findings) if is_batch else _as_text(name, findings, code, turn)


def _as_json(name: str, findings: Sequence[ToolFinding]) -> str:
    summary = f"{name} found {len(findings) or 'nothing'} to fix"
    if len(findings) > MAX_LISTED:
        summary += f"; only the first {MAX_LISTED} are listed"
    return json.dumps({"findings": [it.to_json() for it in findings[:MAX_LISTED]], "summary": summary})


def _as_text(name: str, findings: Sequence[ToolFinding], code: Mapping[str, str], turn: Turn) -> str:
    if findings:
        told = [f"- {finding}" for finding in findings[:MAX_LISTED]]
        return "\n".join([f"{name} found {len(findings)} to fix:", *told])
    words = f"{name} found nothing to fix in {', '.join(sorted(code))}"
    return f"APPROVED: {words}" if turn.get("expects") == "review" else words


def _findings(name: str, code: Mapping[str, str], options: Sequence[str]) -> Iterator[ToolFinding]:
    if find_spec(name) is None:
        raise RuntimeError(f"{name} is not installed: pip install 'symposia[review]'")
    tool = TOOLS[name]
    # The folder's name is that of a package: what is found depends on nothing but the code.
    with TemporaryDirectory(prefix="code_", dir=Path.cwd()) as folder:
        for file, text in code.items():
            (Path(folder) / file).write_text(text, encoding="utf-8", newline="")
        done = subprocess.run(
            # -P: what is reviewed may be called like a module that the program imports.
            [sys.executable, "-P", "-m", name, *options, *tool.arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    try:
        found = list(tool.read(json.loads(done.stdout)))
    except (ValueError, TypeError, KeyError):
        last = done.stderr.strip().rpartition("\n")[2]
        raise RuntimeError(f"{name} failed with exit code {done.returncode}: {last}") from None
    yield from (replace(it, file=Path(it.file).name) for it in found)


def main() -> None:
    """Review the turn on standard input; exits with 1 when that is not possible."""
    name, *options = sys.argv[1:]
    try:
        print(review_turn(name, json.load(sys.stdin), options))  # noqa: T201 - what it has to say
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
