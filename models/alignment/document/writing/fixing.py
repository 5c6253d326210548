"""`fix`: a document in its canonical spelling, line by line, read with the same rounds, turns and markers as before.

Source: RFC 0028, "Tolerance Policy".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from ..checks.lint import lint
from ..model import AlignmentDialogue
from ..parts import Prose
from ..reading.reader import parse
from ..tables import Table
from ..text.line_text import without_spaces

#: Passes over a text: a fixed line may show another flaw, such as a row of dashes below a marker.
_MOST_PASSES = 5
#: Readings of a text to find the fixes that would change what it says. Further fixes are left out.
_MOST_TRIALS = 200


def fix(markdown: str, *, applies: Callable[[str], bool] | None = None) -> str:
    """Return `markdown` with every fix applied that changes the spelling only; other lines stay byte for byte.

    A fix is left out if the document would be read differently with it: headings and lists have an effect on
    the lines below them.

    Args:
        markdown: The document.
        applies: True for the codes of findings to fix; None: all.
    """
    for _ in range(_MOST_PASSES):
        found = [f for f in reversed(lint(markdown)) if applies is None or applies(f.code.value)]
        hints = {f.line: f.fix_hint for f in found if f.safe and f.fix_hint is not None}
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
        while groups and self._trials < _MOST_TRIALS:
            group = groups.pop()
            if self._keep({line: hints[line] for line in group}) or len(group) == 1:
                continue
            half = len(group) // 2
            groups += [group[half:], group[:half]]
        return self._text(self._kept)

    def _keep(self, hints: dict[int, str]) -> bool:
        self._trials += 1
        tried = self._kept | hints
        same = _reading(self._text(tried)) == self._before
        if same:
            self._kept = tried
        return same

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
    rounds = tuple((it.number, it.label, tuple(turn.heading for turn in it.turns)) for it in document.rounds)
    markers = tuple((it.type, it.refs, it.label, it.agent, it.round) for it in document.markers)
    return document.title, document.metadata, rounds, markers, _rest(document)


def _rest(document: AlignmentDialogue) -> Hashable:
    """Return the other headings, the tables and the words."""
    blocks = [*document.blocks()]
    tables = tuple((it.header, it.rows) for it in blocks if isinstance(it, Table))
    words = "".join(without_spaces(it.text) for it in blocks if isinstance(it, Prose))
    judge, sections = tuple(it.label for it in document.judge), tuple(it.title for it in document.sections)
    return judge, sections, tables, words
