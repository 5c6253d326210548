"""The reviewers `ruff` and `bandit`: programs for `command` agents that review the code in a dialog.

    python -m symposia.agents.reviewers ruff [OPTIONS OF RUFF]

Reads a turn as JSON on standard input, takes the Python code out of the newest message that has
some (fenced blocks; `app.py` in "```python app.py" becomes the file's name), and prints what the
tool finds, one line a finding. Nothing to mend in a pair's review begins with `APPROVED:`; no
code at all is a `PASS`. Only what was said is looked at: no file of the machine, no configuration.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from ..models.turn import Expects, TurnContext

#: Findings that are told; of more, only how many they are.
MAX_TOLD = 200
_LANGUAGES = ("python", "py", "python3")
_FILE_NAME = re.compile(r"[\w.-]{1,100}\.py")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to mend."""

    file: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule} {' '.join(self.text.split())}"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that looks at a folder of Python files and reports as JSON."""

    arguments: tuple[str, ...]
    read: Callable[[Any], Iterator[Finding]]


def _ruff(report: Any) -> Iterator[Finding]:
    for it in report:
        yield Finding(it["filename"], it["location"]["row"], it["code"] or "syntax", it["message"])


def _bandit(report: Any) -> Iterator[Finding]:
    for it in report["results"]:
        severity = it["issue_severity"].lower()
        yield Finding(it["filename"], it["line_number"], it["test_id"], f"{it['issue_text']} ({severity})")
    for it in report["errors"]:
        yield Finding(it["filename"], 1, "unread", it["reason"])


TOOLS = {
    "ruff": Tool(("check", "--isolated", "--no-cache", "--quiet", "--output-format=json", "."), _ruff),
    "bandit": Tool(("--recursive", "--quiet", "--format=json", "."), _bandit),
}


def code_of(turn: TurnContext) -> dict[str, str]:
    """The Python code to look at, by file name: of the work item, or the newest message that has some."""
    texts = [turn.item.text] if turn.item else []
    texts += [message.content for message in reversed(turn.messages)]
    return next((code for text in texts if (code := dict(_blocks(text)))), {})


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Fenced blocks of Python, by file name."""
    fence, lines, count = "", list[str](), 0
    for line in text.splitlines():
        mark = line.strip()
        if fence and mark == "```":
            words = fence.split()
            if words[0].lower() in _LANGUAGES:
                count += 1
                yield _file_name(words[1:], count), "\n".join(lines) + "\n"
            fence = ""
        elif fence:
            lines.append(line)
        elif mark.startswith("```"):
            fence, lines = mark.removeprefix("```") or "?", []


def _file_name(words: Sequence[str], count: int) -> str:
    name = PurePosixPath(words[0]).name if words else ""
    return name if _FILE_NAME.fullmatch(name) else f"block{count}.py"


def review(name: str, turn: TurnContext, options: Sequence[str] = ()) -> str:
    """What a tool says to the code of a turn. Raises RuntimeError when it cannot be run."""
    code = code_of(turn)
    if not code:
        return "PASS"
    findings = _findings(name, code, options)
    if findings:
        told = [f"- {finding}" for finding in findings[:MAX_TOLD]]
        return "\n".join([f"{name} found {len(findings)} to mend:", *told])
    words = f"{name} found nothing to mend in {', '.join(sorted(code))}"
    return f"APPROVED: {words}" if turn.expects is Expects.REVIEW else words


def _findings(name: str, code: dict[str, str], options: Sequence[str]) -> list[Finding]:
    if find_spec(name) is None:
        raise RuntimeError(f"{name} is not installed: pip install 'symposia[review]'")
    tool = TOOLS[name]
    with TemporaryDirectory(prefix="code-", dir=Path.cwd()) as folder:
        for file, text in code.items():
            (Path(folder) / file).write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", name, *options, *tool.arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    try:
        found = list(tool.read(json.loads(done.stdout)))
    except (ValueError, TypeError, KeyError):
        last = done.stderr.strip().rpartition("\n")[2]
        raise RuntimeError(f"{name} ended with exit code {done.returncode}: {last}") from None
    named = (Finding(Path(it.file).name, it.line, it.rule, it.text) for it in found)
    return sorted(named, key=lambda it: (it.file, it.line, it.rule))


def main() -> None:
    """Review the turn on standard input; exits with 1 when that is not possible."""
    name, *options = sys.argv[1:]
    turn = TurnContext.model_validate_json(sys.stdin.read())
    try:
        print(review(name, turn, options))  # noqa: T201 - what it has to say
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
