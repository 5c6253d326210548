"""Headings with a round's number among other words: `Round 2 (Convergence)`, `Open Questions (Round 1)`.

Such a heading may be about a round that is over, or may begin one. It begins a round if experts speak under it.

Source: RFC 0028, "Tolerance Policy".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ....models.alignment.vocabulary import DASHES, LINKING_WORDS, ROUND_SUMMARY_WORDS
from ..text.line_text import PICTORIAL
from ..text.numerals import Number, read_number
from .headings import SECTION, TURN, Heading, RoundHeading, is_document_section, read_judge
from .names import is_panel
from .round_headings import (
    MOST_ROUNDS,
    PARTING,
    first_word,
    names_several_rounds,
    read_ordinal,
    split_last_round,
    strip_decoration,
    with_round_name,
    without_total,
)

_ROUND = "round"
_PICTORIAL = "".join(PICTORIAL)
_BRACKETS = {"(": ")", "[": "]"}
#: Words that may precede `Round N` without punctuation: `Convergence Round 2`.
_MOST_WORDS_BEFORE = 3


@lru_cache(maxsize=4096)
def mentioned_round(heading: Heading) -> RoundHeading | None:
    """Return the round that a heading names, with any label; None if it names several rounds or no number."""
    if heading.level > TURN + 1 or read_judge(heading):
        return None
    text = strip_decoration(heading.text)
    word, rest = first_word(text)
    if word == _ROUND:
        return _with_label(read_number(rest))
    if ordinal := read_ordinal(text):
        return RoundHeading(ordinal[0], _bare(ordinal[1]))
    if heading.level > SECTION or is_panel(heading.text):
        return None
    return _short(rest) if word == "r" else _at_the_end(text)


def later_round(extra: str, last: int | None) -> RoundHeading | None:
    """Return the round after `last` that a turn's heading mentions beside the name: `Round 2` of `Muffin — Round 2`."""
    begun = mentioned_round(Heading(TURN, extra.strip("()[] "))) if _ROUND in extra.casefold() else None
    return begun if begun and last is not None and begun.number > last else None


def _mentioned(heading: Heading, last: int | None) -> RoundHeading | None:
    """Return the round that a heading mentions by its number, or as the one after the last."""
    name, rest = split_last_round(heading)
    if not name:
        return mentioned_round(heading)
    counted = _with_label(read_number(rest))
    return counted or RoundHeading(1 if last is None else last + 1, with_round_name(name, _bare(rest)))


def _with_label(found: Number | None) -> RoundHeading | None:
    if found is None or names_several_rounds(found.rest) or found.number > MOST_ROUNDS:
        return None
    label = _bare(without_total(found.rest))
    return RoundHeading(found.number, with_round_name(found.spelled, label) if found.suffixed else label)


def _bare(rest: str) -> str:
    """Return a label without its separator from the number: `(Convergence)`, `— Convergence`, `'s review`."""
    label = rest.strip().removeprefix("'s ").removeprefix("’s ").lstrip(_PICTORIAL).lstrip(PARTING + ":")
    if label[-1:] == _BRACKETS.get(label[:1]) and label[:1] not in label[1:]:
        label = label[1:-1].strip()
    return label


def _short(rest: str) -> RoundHeading | None:
    """Read `R2 (Convergence)`, `R2 Convergence`; `R2 is a robot` is a sentence."""
    found = read_number(rest) if rest[:1].isdecimal() else None
    if found is None:
        return None
    about = first_word(found.rest)[0] in ROUND_SUMMARY_WORDS
    return _with_label(found) if about or found.rest[:1] in (*_BRACKETS, *DASHES) else None


def _at_the_end(text: str) -> RoundHeading | None:
    """Read `Open Questions (Round 1)`, `Synthesis — Round 2`, `Convergence Round 2`."""
    at = text.casefold().rfind(f"{_ROUND} ")
    if at <= 0 or text[at - 1].isalnum() or len(text.casefold()) != len(text):
        return None
    label, found = text[:at].rstrip(), read_number(text[at + len(_ROUND) + 1 :].rstrip(" )]"))
    bare = label.rstrip("(:[|" + DASHES).strip()
    words = bare.casefold().split()
    if found is None or not words or not _BRACKETS.keys().isdisjoint(bare):
        return None
    if words[-1] in LINKING_WORDS or (bare == label and len(words) > _MOST_WORDS_BEFORE):
        return None
    begun = _with_label(found)
    return RoundHeading(begun.number, with_round_name(bare, begun.label)) if begun else None


@dataclass(frozen=True, slots=True)
class Mention:
    """A heading that mentions a round, its line and level, and the round that it may begin."""

    line: int
    level: int
    begun: RoundHeading
    #: It counts only if no other heading begins a round of this number.
    weak: bool


class RoundMentions:
    """Collector of headings that begin a round only because experts speak under them.

    `confirmed`: lines of such headings, from an earlier reading of the same text.
    """

    def __init__(self, confirmed: frozenset[int] = frozenset()) -> None:
        self.confirmed = confirmed
        self._pending: Mention | None = None
        self._spoken: list[Mention] = []
        self._numbers: set[int] = set()
        #: The last section in this round, by its line and title.
        self._section: tuple[int, str] | None = None
        #: A line that reads like the heading of the next round, and such lines under which an expert spoke.
        self._line: tuple[int, RoundHeading] | None = None
        self._doubtful: list[tuple[int, RoundHeading]] = []
        self._unclear: dict[int, RoundHeading | None] = {}

    @property
    def pending(self) -> bool:
        """True while the next turn would confirm a heading, or make that of a section unclear."""
        return self._pending is not None or self._section is not None

    def found(self) -> frozenset[int]:
        """Return lines of headings under which experts spoke in this reading, besides those confirmed before."""
        return frozenset(it.line for it in self._spoken if not self._is_taken(it))

    def unclear(self) -> dict[int, RoundHeading | None]:
        """Return lines of sections under which experts spoke, each with the round that its heading may mean."""
        doubtful = {line: begun for line, begun in self._doubtful if begun.number not in self._numbers}
        return doubtful | self._unclear | {it.line: it.begun for it in self._spoken if it.level <= SECTION}

    def _is_taken(self, it: Mention) -> bool:
        return it.weak and it.begun.number in self._numbers

    def read(self, line: int, heading: Heading, *, last: int | None) -> RoundHeading | None:
        """Return the round of a heading that is confirmed; `last` is the number of the round before it."""
        return _mentioned(heading, last) if line in self.confirmed else None

    def begin_round(self, number: int) -> None:
        """Record the beginning of a round."""
        self._pending = self._section = self._line = None
        self._numbers.add(number)

    def begin_section(self, line: int, title: str) -> None:
        """Record the heading of a section; a panel and the like introduce experts, who do not speak."""
        self._section = None if is_document_section(title) or is_panel(title) else (line, title)

    def close(self, level: int) -> None:
        """Record a heading of this level, which closes all open headings of this or a lower level."""
        if self._pending is not None and level <= self._pending.level:
            self._pending = None

    def add_candidate(self, line: int, heading: Heading, *, last: int | None, deepest: int) -> None:
        """Record a heading that begins no part. Rounds of the document have headings down to level `deepest`."""
        self.close(heading.level)
        begun = _mentioned(heading, last)
        if begun is None:
            return
        deep = heading.level > deepest
        if deep and last is not None and begun.number <= last:
            return  # a subheading about this round or an earlier one
        weak = deep or last is None or is_document_section(heading.text)
        self._pending = Mention(line, heading.level, begun, weak)

    def note_turn(self, line: int, extra: str, *, last: int | None) -> None:
        """Record the text beside the name in the heading of a turn."""
        if begun := later_round(extra, last):
            self._unclear[line] = begun

    def add_candidate_line(self, line: int, begun: RoundHeading, *, last: int | None) -> None:
        """Record a line that is not a heading of a round, but reads like that of the next round."""
        if last is not None and begun.number == last + 1:
            self._line = line, begun

    def confirm_by_turn(self, level: int, *, last: int | None) -> None:
        """Record the heading of a turn; `last` is the round number of the section above it."""
        it, self._pending = self._pending, None
        section, self._section = self._section, None
        doubtful, self._line = self._line, None
        if it is not None and level >= it.level and (last is not None or level > SECTION):
            self._spoken.append(it)
        elif section is not None:
            line, title = section
            number = 0 if last is None else last + 1
            self._unclear[line] = None if _ROUND in title.casefold() else RoundHeading(number, title)
        elif doubtful is not None:
            self._doubtful.append(doubtful)
