"""A document in its canonical spelling: `render` writes all of it, `fix` corrects a text line by line.

`parse` reads the same document back.

Source: RFC 0028, "Interface: DialogueFormat" and "Tolerance Policy".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from .blocks import Place, escape_prose
from .headings import SECTION, TITLE, Heading, JudgeHeading, RoundHeading, read_round
from .model import AlignmentDialogue, Block, Judge, Metadata, MetadataForm, Part, Prose, Round
from .reader import parse
from .rules import lint
from .tables import Table
from .text import without_spaces


def render(document: AlignmentDialogue) -> str:
    """Return the document as Markdown, ending with a line break; empty for an empty document."""
    place = Place(document.names)
    pieces = [*_head(document, replace(place, preamble=True))]
    numbers = {part.number for part in document.rounds}
    for part in document.parts:
        pieces += _part(part, place, numbers)
    return "\n\n".join(pieces) + "\n" if pieces else ""


def _head(document: AlignmentDialogue, place: Place) -> Iterator[str]:
    if document.title:
        yield str(Heading(TITLE, document.title))
    for form, entries in groupby(document.metadata, key=lambda entry: entry.form):
        run = tuple(entries)
        yield _table(run) if form is MetadataForm.TABLE else "\n".join(map(str, run))
    yield from _blocks(document.preamble, place)


def _table(entries: Sequence[Metadata]) -> str:
    return str(Table(("", ""), tuple((f"**{entry.key}**", entry.value) for entry in entries)))


def _part(part: Part, place: Place, numbers: set[int]) -> Iterator[str]:
    quotable = False
    match part:
        case Round(number, label):
            quotable = not part.turns
            yield str(RoundHeading(number, label))
        case Judge(label):
            yield str(JudgeHeading(label))
        case section:
            heading = Heading(SECTION, section.title)
            mention = read_round(heading)
            quotable = mention is not None and mention.number not in numbers
            yield str(heading)
    yield from _blocks(part.blocks, replace(place, quotable=quotable))
    for turn in part.turns if isinstance(part, Round) else ():
        yield str(turn.heading)
        yield from _blocks(turn.blocks, place)


def _blocks(blocks: Sequence[Block], place: Place) -> Iterator[str]:
    for block in blocks:
        yield escape_prose(block.text, place) if isinstance(block, Prose) else str(block)


#: Passes over a text: a fixed line may show another flaw, such as a row of dashes below a marker.
_MAX_PASSES = 5
#: Readings of a text to find the fixes that would change what it says. Further fixes are left out.
_MAX_TRIALS = 200


def fix(markdown: str, *, applies: Callable[[str], bool] | None = None) -> str:
    """Return `markdown` with every fix applied that changes the spelling only; other lines stay byte for byte.

    A fix is left out if the document would be read differently with it: headings and lists have an effect on
    the lines below them.

    Args:
        markdown: The document.
        applies: True for the codes of findings to fix; None: all.
    """
    for _ in range(_MAX_PASSES):
        findings = [f for f in reversed(lint(markdown)) if applies is None or applies(f.code.value)]
        hints = {f.line: f.fix_hint for f in findings if f.safe and f.fix_hint is not None}
        fixed = _Fixer(markdown).apply(hints) if hints else markdown
        if fixed == markdown:
            break
        markdown = fixed
    return markdown


class _Fixer:
    """Applies as many hints to a text as its reading allows."""

    def __init__(self, markdown: str) -> None:
        self._end = "\r" if "\r" in markdown and "\n" not in markdown else "\n"
        self._lines = markdown.split(self._end)
        self._before = _reading(markdown)
        self._kept: dict[int, str] = {}
        self._trials = 0

    def apply(self, hints: Mapping[int, str]) -> str:
        """Return the text with these hints, by line, except hints that would change how the document is read."""
        groups = [sorted(hints)]
        while groups and self._trials < _MAX_TRIALS:
            group = groups.pop()
            if self._keep({line: hints[line] for line in group}) or len(group) == 1:
                continue
            half = len(group) // 2
            groups += [group[half:], group[:half]]
        return self._text(self._kept)

    def _keep(self, hints: dict[int, str]) -> bool:
        self._trials += 1
        tried = self._kept | hints
        is_unchanged = _reading(self._text(tried)) == self._before
        if is_unchanged:
            self._kept = tried
        return is_unchanged

    def _text(self, hints: Mapping[int, str]) -> str:
        lines = [*self._lines]
        for number, hint in hints.items():
            lines[number - 1] = _replaced(lines[number - 1], hint, self._end)
        return self._end.join(lines)


def _replaced(line: str, hint: str, end: str) -> str:
    tail = line[len(line.rstrip("\r")) :]
    bom = "\ufeff" if line.startswith("\ufeff") else ""
    return bom + hint.replace("\n", tail + end) + tail


def _reading(markdown: str) -> Hashable:
    """Return all that a text says, without its lines and spacing."""
    document = parse(markdown)
    rounds = tuple(
        (part.number, part.label, tuple(turn.heading for turn in part.turns)) for part in document.rounds
    )
    markers = tuple(
        (marker.type, marker.refs, marker.label, marker.agent, marker.round) for marker in document.markers
    )
    return document.title, document.metadata, rounds, markers, _rest(document)


def _rest(document: AlignmentDialogue) -> Hashable:
    """Return the other headings, the tables and the words."""
    blocks = [*document.blocks()]
    tables = tuple((table.header, table.rows) for table in blocks if isinstance(table, Table))
    text = "".join(without_spaces(prose.text) for prose in blocks if isinstance(prose, Prose))
    judge, sections = (
        tuple(part.label for part in document.judge),
        tuple(section.title for section in document.sections),
    )
    return judge, sections, tables, text
