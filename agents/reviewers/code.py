"""The reviewers `ruff`, `bandit` and `inspector` (both): programs for `command` agents that review code in a dialog.

    python -m symposia.agents.reviewers.code ruff [OPTIONS OF RUFF]

Reads a turn as JSON on standard input, takes the Python code out of the newest message that has
some (fenced blocks; `app.py` in "```python app.py" becomes the file's name), and prints what the
tool finds, one line a finding. Without findings, a pair's review begins with `APPROVED:`; no
code at all is a `PASS`. Only what was said is looked at: no file of the machine, no configuration.

In a batch review (the session's parameter `review`) findings are printed as JSON instead: see
`models.review.reading`.

One process a turn: nothing that is slow to import is imported here.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from .code_tools import TOOLS, ToolFinding
from .markdown_fences import fenced_blocks

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
