"""The tool `read_file` of model reviewers: reads a file of the reviewed project, a limited number of times.

The files are those that were stored when the review started. Nothing else can be read.
"""

from __future__ import annotations

from pydantic_ai import FunctionToolset, RunContext

from ...models.text.numbered_lines import split_lines
from ...models.text.paths import MAX_PATH
from ...models.turns.turn import REVIEW_PARAMETER, TurnContext
from ..agent import ReviewFilesPort
from .tools import ToolContext, Toolset

#: Maximum bytes of one answer.
MAX_ANSWER_BYTES = 8_192
_NO_FILE = "There is no such file, or it cannot be read."


def review_toolsets(turn: TurnContext, files: ReviewFilesPort | None) -> list[Toolset]:
    """Return the tool for the reviewers of a panel with `read_files`; empty in other turns."""
    review = turn.parameters.get(REVIEW_PARAMETER)
    if files is None or not isinstance(review, dict):
        return []
    batch_id, item, left = review.get("batch"), review.get("item"), review.get("read_files")
    if not isinstance(batch_id, str) or not isinstance(item, int) or not isinstance(left, int):
        return []
    count = 0

    async def read_file(_: RunContext[ToolContext], path: str, first_line: int = 1) -> str:
        """Read a file of the reviewed project.

        Args:
            path: Its path below the root of the project.
            first_line: The first line to return, from 1.
        """
        nonlocal count
        count += 1
        if count > left:
            return f"At most {left} reads are allowed in a turn: answer with what you know."
        if not path.isprintable() or len(path) > MAX_PATH:
            return _NO_FILE
        text = await files.read_file(batch_id, item, path.removeprefix("./"))
        return _NO_FILE if text is None else _numbered(text, first_line)

    return [FunctionToolset([read_file], id="review_files")]


def _numbered(text: str, first: int) -> str:
    """Return lines with their numbers, cut to the maximum."""
    lines = split_lines(text)
    start = max(first, 1)
    shown = ""
    for number in range(start, len(lines) + 1):
        line = f"{number}: {lines[number - 1]}\n"
        if len((shown + line).encode()) > MAX_ANSWER_BYTES:
            return f"{shown}The file has {len(lines)} lines: read on from line {number}."
        shown += line
    return shown or f"The file has {len(lines)} lines."
