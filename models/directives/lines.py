"""Lines of a text that are directives, each with the lines that belong to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

#: Directives that may stand alone on their line.
_ALONE = ("DONE", "STALLED", "TERMINATE", "FINISH")
#: Directives whose text continues on the following lines.
_LONG = ("INSTRUCTION", "ITEM")
_WORDS = (*_ALONE, *_LONG, "NEXT", "TOGETHER", "HAND OFF", "HANDOFF")
_EMPHASIS = "*_`~"
_BULLETS = re.compile(r"(?:(?:[-*+•] |[>#])\s*)*")
#: Maximum number of removed layers of emphasis around a line.
_MAX_LAYERS = 8


@dataclass(frozen=True, slots=True)
class Directive:
    """A line that directs, such as `INSTRUCTION coder: write it`."""

    word: str
    #: `coder` in `INSTRUCTION coder: ...`
    target: str
    text: str
    #: Index of its line in the text.
    at: int = 0


class Line(NamedTuple):
    """A line of a text."""

    at: int
    text: str
    is_code: bool = False


def split_lines(text: str) -> list[Line]:
    """Return the lines of a text; those in fences are code, unless the whole text is in one fence."""
    lines = text.splitlines()
    written = [at for at, line in enumerate(lines) if line.strip()]
    fences = {at for at in written if lines[at].lstrip().startswith("```")}
    if len(written) > 1 and fences == {written[0], written[-1]}:
        return [Line(at, lines[at]) for at in range(written[0] + 1, written[-1])]
    split, fenced = [], False
    for at, line in enumerate(lines):
        split.append(Line(at, line, is_code=fenced or at in fences))
        fenced ^= at in fences
    return split


def spoken_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text that are not in a fence."""
    return (line.text for line in split_lines(text) if not line.is_code)


def read_lines(text: str) -> Iterator[Directive]:
    """Yield the directives of a text, in order, each with the lines that belong to it."""
    current: Directive | None = None
    more: list[str] = []
    goes_on = False
    for line in split_lines(text):
        directive = None if line.is_code else read_line(line.text)
        if directive:
            if current:
                yield _followed_by(current, more)
            current, more = replace(directive, at=line.at), []
            goes_on = directive.word in _LONG or not directive.text
        elif current and goes_on and (line.text.strip() or current.word == "INSTRUCTION"):
            if not line.is_code or current.word == "INSTRUCTION":
                more.append(line.text.rstrip() if line.is_code else line.text.strip())
        elif current and (current.text or more):
            goes_on = False
    if current:
        yield _followed_by(current, more)


def _followed_by(directive: Directive, lines: Sequence[str]) -> Directive:
    return replace(directive, text="\n".join((directive.text, *lines)).strip()) if lines else directive


def read_line(line: str) -> Directive | None:
    """Return the directive of one line; None: it is text."""
    if ":" not in line and not any(word in line for word in _ALONE):  # most lines of a text
        return None
    plain = unwrap(line)
    head, colon, rest = plain.partition(":")
    if not colon:
        word = plain.rstrip(".! ")
        return Directive(word, "", "") if word in _ALONE else None
    marks = head[: len(head) - len(head.lstrip(_EMPHASIS))]
    text = rest.strip().removeprefix(marks[::-1]).strip()
    head = head.strip(_EMPHASIS + " ")
    word = head.replace("-", " ").replace("_", " ")
    if word in _WORDS:
        return Directive(word, "", text)
    word, _, target = head.partition(" ")
    target = target.strip(_EMPHASIS + " ()[]@")
    return Directive(word, target, text) if word in _LONG and target else None


def unwrap(line: str) -> str:
    """Return the line without bullets, numbers, headings and emphasis around all of it."""
    plain = _BULLETS.sub("", line.strip(), count=1)
    number, dot, rest = plain.partition(". ")
    plain = rest.lstrip() if dot and number.isdigit() else plain
    for _ in range(_MAX_LAYERS):
        if len(plain) < 2 or plain[0] not in _EMPHASIS or plain[-1] != plain[0]:
            break
        plain = plain[1:-1].strip()
    return plain


def is_nothing_but(text: str, word: str) -> bool:
    """Return whether a text is one word, in any case, with decoration around it."""
    return unwrap(text).strip("[]().!\"' ").casefold() == word.casefold()
