"""The opening message of a review session: the text and its context. Pure.

Programs get the plain text in a fence. Models get numbered lines, the lines to review marked, or the files of a change
as unified diffs; how they answer is in the guide (`guide`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from ...models.text.numbered_lines import (
    CHANGED,
    NUMBERED,
    ShownLine,
    format_ranges,
    join_lines,
    read_change_lines,
    read_numbered_lines,
)
from ..reviewers.code import fence_text, fenced_blocks
from ..values.changes import (
    MAX_DESCRIPTION,
    MAX_ISSUE_BYTES,
    MAX_ISSUES,
    MAX_TITLE,
    ChangeDescription,
    LinkedIssue,
)
from ..values.runs import Item, ItemKind, ItemPart, SkippedItem
from .splitter import Chunk

_LANGUAGES = {
    ".py": "python",
    ".pyi": "python",
    ".md": "markdown",
    ".yml": "yaml",
    ".js": "javascript",
    ".ts": "typescript",
}
#: Maximum ranges in the first sentence of a part.
MAX_SCOPE_RANGES = 20
#: Maximum files in the list of a change, and bytes of its commit messages.
MAX_LISTED_FILES, MAX_COMMITS_BYTES = 200, 4_000
#: Maximum bytes of all that is said of a change.
MAX_OVERVIEW_BYTES = 16_384
_PLAIN_NAME = re.compile(r"[\w.-]{1,100}")
_PLAIN_ANSWER = (
    'Answer with JSON and nothing else: {"findings": [{"line": 3, "end_line": 4, "rule": "short-name", '
    '"severity": "critical, high, medium, low or info", "message": "what is wrong", '
    '"suggestion": "what to do", "confidence": 0.8}], "summary": "one sentence"}'
)


class Section(NamedTuple):
    """Context of an item beside its text."""

    title: str
    text: str


def plain_opening(item: Item, text: str) -> str:
    """Return the opening message for programs: the whole item in a fence, and the format of an answer."""
    return "\n".join(
        [f"Review {json.dumps(item.path)}.{_changed(item)} {_PLAIN_ANSWER}", fence_text(text, _info(item))]
    )


def numbered_opening(item: Item, chunk: Chunk, *, sections: Sequence[Section] = ()) -> str:
    """Return the opening message for models: a chunk with numbered lines, and its context."""
    return "\n".join(
        [
            f"Review {json.dumps(item.path)}{_scope(item.part)}.",
            fence_text(chunk.render(), f"{_info(item)} {NUMBERED}"),
            *map(_section, sections),
        ]
    )


def change_of_file(item: Item, changed: str, *, sections: Sequence[Section] = ()) -> str:
    """Return one file of a change for models: what happened to it, its lines, and its context."""
    part = item.part if item.part and item.part.lines else None
    return "\n".join(
        [
            f"{json.dumps(item.path, ensure_ascii=False)}, {_event(item)}{_scope(part)}",
            fence_text(changed, f"{_info(item)} {CHANGED}"),
            *map(_section, sections),
        ]
    )


def change_opening(overview: str, files: Sequence[str]) -> str:
    """Return the opening message for models: what is said of the whole change, and some of its files."""
    return "\n\n".join([f"Review a change.\n{fence_text(overview, 'text')}", *files])


def change_overview(
    change: ChangeDescription, items: Sequence[Item], skipped: Iterable[SkippedItem] = ()
) -> str:
    """Return what is said of a whole change: title, description, linked issues, commits, and all of its files."""
    lines: list[str] = []
    if change.title:
        lines.append(f"Title: {' '.join(change.title.split())[:MAX_TITLE]}")
    if change.description.strip():
        lines.append(f"Description:\n{change.description.strip()[:MAX_DESCRIPTION]}")
    if change.issues:
        lines += ["Linked issues:", *map(_issue, change.issues[:MAX_ISSUES])]
    if change.commits:
        lines.append("Commits:")
        lines += [f"- {_indented(message)}" for message in _within(change.commits, MAX_COMMITS_BYTES)]
    files = [f"- {item.path}, {_event(item)}" for item in items]
    files += [f"- {entry.path}: not reviewed, {entry.reason}" for entry in skipped]
    lines += ["Files:", *files[:MAX_LISTED_FILES]]
    if len(files) > MAX_LISTED_FILES:
        lines.append(f"- {len(files) - MAX_LISTED_FILES} more")
    return "\n".join(lines)


def _issue(issue: LinkedIssue) -> str:
    text = f"{issue.name}: {' '.join(issue.title.split())[:MAX_TITLE]}\n{issue.description}"
    return f"- {_indented(''.join(_within([text], MAX_ISSUE_BYTES)))}"


def _within(texts: Iterable[str], room: int) -> Iterator[str]:
    """Yield the texts, each cut to what is left of some bytes."""
    for text in texts:
        shown = text.encode()[: max(room, 0)].decode(errors="ignore")
        room -= len(text.encode())
        if shown.strip():
            yield shown


def _indented(text: str) -> str:
    return "\n  ".join(line for line in text.splitlines() if line.strip())


def _event(item: Item) -> str:
    """Return what happened to a file."""
    match item.kind:
        case ItemKind.DELETED:
            return "deleted"
        case ItemKind.RENAMED:
            event = f"renamed from {item.renamed_from}"
        case _ if item.changed is None:
            return "new"
        case _:
            event = "modified"
    return event if item.changed or item.removed else f"{event}, no line changed"


def _section(section: Section) -> str:
    return f"{section.title}\n{fence_text(section.text, 'text')}"


class ShownFile(NamedTuple):
    """A file as its reviewers were shown it."""

    #: Lines before the change, by number; models may quote those to review.
    old: Mapping[int, ShownLine]
    #: Present lines, by number.
    new: Mapping[int, ShownLine]
    #: Present text; lines that were not shown are empty.
    text: str


def read_opening(opening: str, paths: Sequence[str]) -> dict[str, ShownFile]:
    """Return the files of an opening message by path. `paths`: in their order; a path may come again."""
    blocks = list(fenced_blocks(opening, with_numbers=True))
    for_models = [(info, body) for info, body in blocks if {NUMBERED, CHANGED}.intersection(info.split())]
    files: dict[str, ShownFile] = {}
    for path, (info, body) in zip(paths, for_models or blocks[:1], strict=False):
        if not for_models:
            files[path] = ShownFile({}, {}, body)
            continue
        old, new = read_change_lines(body) if CHANGED in info.split() else ({}, read_numbered_lines(body))
        before = files.get(path, ShownFile({}, {}, ""))
        new = {**before.new, **new}
        files[path] = ShownFile({**before.old, **old}, new, join_lines(new))
    return files


def _scope(part: ItemPart | None) -> str:
    if part is None:
        return ""
    return f", lines {format_ranges(part.lines[:MAX_SCOPE_RANGES])} (part {part.number} of {part.count})"


def _info(item: Item) -> str:
    path = PurePosixPath(item.typed_path)
    language = _LANGUAGES.get(path.suffix, path.suffix.removeprefix("."))
    return " ".join(name for name in (language or "text", path.name) if _PLAIN_NAME.fullmatch(name))


def _changed(item: Item) -> str:
    if item.changed is None:
        return ""
    listed = ", ".join(f"{first}-{last}" for first, last in item.changed[:100])
    return f" Review only the changed lines: {listed}." if listed else ""
