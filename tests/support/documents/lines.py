"""Console lines of the pages of the documentation: what is typed, and the answer that the page shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
#: `commands.md` is written from the help texts and has no console lines.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]

_HEADING = re.compile(r"#+ (.+)|\*\*(.+?)\.?\*\*")
_FENCE = re.compile(r"\s*```(\w*)")
#: Blocks of these languages have console lines; those without a language may have some.
_CONSOLES = ("console", "sh", "")
#: A line without `$ `, in a block without a language or indented by four spaces.
_BARE = re.compile(r"(?:\w+=\S+ )?(?:symposia|make|pip|python|docker|kubectl|systemctl|redis-cli|curl) .*")
_COMMENT = re.compile(r"(?: {2,}|^)# .*")


class Line(NamedTuple):
    """A console line of a page."""

    page: str
    #: The heading above it, or the words in bold that begin a paragraph above it.
    section: str
    text: str
    #: The lines below it, as far as they are no other command.
    answer: str


def read_lines(path: Path) -> list[Line]:
    """All console lines of a page, from top to bottom."""
    found: list[Line] = []
    section, language = "", None
    is_answered = False  # whether a line below a command belongs to it
    for line in path.read_text().splitlines():
        if fence := _FENCE.match(line):
            language = fence[1] if language is None else None
            is_answered = False
        elif text := _read_command(line, language):
            found.append(Line(path.name, section, text, ""))
            is_answered = True
        elif language is None and not line.startswith("    "):
            is_answered = False
            heading = _HEADING.match(line)
            section = heading[1] or heading[2] if heading else section
        elif is_answered:
            found[-1] = found[-1]._replace(answer=f"{found[-1].answer}{_outdent(line, language)}\n")
    return found


def read_sections(page: str, *sections: str) -> Iterator[Line]:
    """The console lines of these sections of a page; without sections, all of the page."""
    lines = read_lines(next(path for path in PAGES if path.name == page))
    assert set(sections) <= {line.section for line in lines}, sections
    yield from (line for line in lines if not sections or line.section in sections)


def _read_command(line: str, language: str | None) -> str:
    """The command of a line, without its comment; '' if it has none."""
    if (language is None and not line.startswith("    ")) or language not in (None, *_CONSOLES):
        return ""
    text = _outdent(line, language)
    if text.startswith("$ "):
        return _COMMENT.sub("", text.removeprefix("$ "))
    is_bare = language == "sh" or (language != "console" and _BARE.fullmatch(text))
    return _COMMENT.sub("", text) if is_bare else ""


def _outdent(line: str, language: str | None) -> str:
    return line if language is not None else line[4:]
