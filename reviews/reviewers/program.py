"""Runs an analysis program on the item of a batch review: `command` agents for any language.

    [agents.hadolint]
    kind = "command"
    argv = ["{python}", "-m", "symposia.agents.reviewers.program", "hadolint", "--format=sarif", "{file}"]

The item is written to a temporary folder at its path below the root, and the program is run there without a
shell; `{file}` becomes that path, with `./` in front, so that no name of a file is an option. Its output may be SARIF, the JSON of ESLint or ShellCheck, or findings in the
form of `reviews.values.answers`. Exit codes from 0 to 2 are accepted if the output can be read.

Each turn starts a process, so this module imports nothing that is slow to import.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from ..values.tool_outputs import read_tool_output
from .code import Turn, fenced_blocks, review_of
from .workspace import is_safe_path, workspace

#: Placeholder of the path in the arguments.
FILE = "{file}"
#: Greatest exit code that only means findings.
_MAX_EXIT = 2


def run_on_item(argv: Sequence[str], turn: Turn) -> str:
    """Return the findings of a program about the item of a turn, as JSON; `PASS` without an item.

    Raises:
        RuntimeError: The program cannot be run, or its output cannot be read.
    """
    item = item_of(turn)
    if item is None:
        return "PASS"
    path, text = item
    if not is_safe_path(path):
        raise RuntimeError(f"{argv[0]} cannot review a file of this name")
    done = run_on_file(argv, path, text)
    findings = _findings(done.stdout)
    if findings is None or not 0 <= done.returncode <= _MAX_EXIT:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise RuntimeError(f"{argv[0]} failed with exit code {done.returncode}: {last}")
    return answer_with(argv[0], findings)


def item_of(turn: Turn) -> tuple[str, str] | None:
    """Return the path and text of the item of a batch review; None: the turn has none."""
    review, messages = review_of(turn), turn.get("messages") or ()
    text = next((body for message in messages[:1] for _, body in fenced_blocks(message["content"])), None)
    return None if review is None or text is None else (str(review.get("path", "")), text)


def run_on_file(argv: Sequence[str], path: str, text: str) -> subprocess.CompletedProcess[bytes]:
    """Run a program in a temporary folder with a file of this text. Raises RuntimeError: it cannot be run."""
    with workspace({path: text}, {}) as folder:
        try:
            return subprocess.run(
                [argument.replace(FILE, f"./{path}") for argument in argv],
                cwd=folder,
                capture_output=True,
                check=False,
            )
        except OSError as error:
            raise RuntimeError(f"{argv[0]} cannot be run: {error.strerror}") from None


def answer_with(name: str, findings: Sequence[object], *, left_out: int = 0) -> str:
    """Return the answer of a reviewer with findings, as JSON; `left_out`: number of further ones."""
    summary = f"{name} found {len(findings) + left_out or 'nothing'} to fix"
    return json.dumps({"findings": findings, "summary": summary, "left_out": left_out})


def _findings(output: bytes) -> list[object] | None:
    """Return the findings of an output; None: it cannot be read."""
    if not output.strip():
        return None
    try:
        data = json.loads(output)
    except ValueError:
        return None
    findings: list[object] | None = (
        list(tool_findings) if (tool_findings := read_tool_output(data)) is not None else None
    )
    if findings is None and isinstance(data, dict) and isinstance(data.get("findings"), list):
        findings = data["findings"]
    return findings


def main() -> None:
    """Run the program of the arguments on the turn on standard input; exit with 1 if that is not possible."""
    argv = sys.argv[1:]
    if not argv:
        sys.exit("a program is required: python -m symposia.agents.reviewers.program PROGRAM [ARGUMENT]...")
    try:
        print(run_on_item(argv, json.load(sys.stdin)))  # noqa: T201 - the output of the program
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
