"""Lines that look like rounds and turns to people but not to the parser, so that they would be lost silently.

A line in a document without rounds, a heading with the number of a round that no other has, an expert's heading that
begins no turn, and a round without turns in which an expert speaks are reported. A backslash before the words marks
them as plain text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...models.alignment.vocabulary import EXPERT_EMOJI, ROLE_WORDS
from .experts import (
    ExpertNames,
    is_capitalised,
    is_expert_emoji,
    may_be_emoji_of_turn,
    read_agent,
    speaker_label,
    split_name,
)
from .headings import (
    DEEPEST,
    MAX_ROUNDS,
    SECTION,
    TURN,
    AgentHeading,
    Heading,
    RoundHeading,
    is_document_section,
    read_heading,
    read_round,
)
from .lines import Line
from .markers import Marker
from .outline import Start, reads_like_round
from .reader import ParsedDocument
from .text import PICTORIAL, is_person, split_emoji

#: Maximum number of words of a name.
_MAX_WORDS = 3
#: Separators between the names of several experts.
_JOINTS = (" & ", " and ", " + ", " / ", ",")


class Lookalike(NamedTuple):
    """A line by its number from 1, what it reads like, and the heading to write instead, if known."""

    line: int
    text: str
    hint: str | None


def unread_rounds(parsed: ParsedDocument) -> Iterator[Lookalike]:
    """Yield the lines that read like rounds, in a document without one, and headings of rounds that are none."""
    numbers = {part.number for part in parsed.document.rounds}
    for line in parsed.lines:
        if line.hidden or isinstance(parsed.outline.starts.get(line.number), RoundHeading):
            continue
        like = _reads_like_new_round(line.text, numbers) if numbers else reads_like_round(line.text)
        if like or _is_fraction(line.text):
            yield Lookalike(line.number, line.text.strip(), str(like) if like else None)


def _reads_like_new_round(line: str, numbers: set[int]) -> RoundHeading | None:
    """Return the round of a subheading that has the form of a round's, with a number that no round has."""
    heading = read_heading(line) if line.lstrip()[:1] == "#" else None
    mention = read_round(heading) if heading and heading.level > SECTION else None
    if mention is None or mention.number is None or not (mention.sure or mention.parted):
        return None
    return mention.heading(None) if mention.number not in numbers and mention.number <= MAX_ROUNDS else None


def _is_fraction(line: str) -> bool:
    """Return True for `## Round 1.5`: a heading of a round whose number is none."""
    heading = read_heading(line) if line.lstrip()[:1] == "#" else None
    word, _, number = heading.text.partition(" ") if heading else ("", "", "")
    whole, point, part = number.partition(".")
    return word.casefold() == "round" and point != "" and whole.isdecimal() and part[:1].isdecimal()


class _Unread(NamedTuple):
    """A heading that begins no turn and no round, by its line, and whether markers follow it."""

    line: int
    heading: Heading
    marked: bool


class _FreePart(NamedTuple):
    """A round, or a section in which experts may speak: not the judge's, a panel and the like."""

    start: Start
    lines: Sequence[Line]
    markers: Sequence[Marker]
    has_turns: bool
    unread: Sequence[_Unread]


def unread_turns(parsed: ParsedDocument) -> Iterator[Lookalike]:
    """Yield headings that look like turns but begin none, and speech in rounds without turns."""
    names = parsed.names
    parts = [*_free_parts(parsed)]
    bare = set() if names else _bare_names(parts)
    for part in parts if parsed.document.rounds or names else ():
        for unread in part.unread:
            like = _joined(unread.heading.text, names) if unread.heading.level == TURN else None
            like = like or _stranger(unread, part.start, names)
            if like is None and unread.heading.text in bare and unread.heading.level == TURN:
                like = AgentHeading(unread.heading.text)
            if like is not None:
                yield Lookalike(unread.line, f"{'#' * unread.heading.level} {unread.heading.text}", str(like))
    numbers = {part.number for part in parsed.document.rounds}
    for part in parts:
        yield from _unread_speech(part, names, numbers)


def _free_parts(parsed: ParsedDocument) -> Iterator[_FreePart]:
    starts = parsed.outline.starts
    turns = {part.line for part in parsed.document.rounds if part.turns}
    markers = sorted(parsed.document.markers, key=lambda marker: marker.line)
    at = [marker.line for marker in markers]
    bounds = [line for line, structure in sorted(starts.items()) if not isinstance(structure, AgentHeading)]
    for line, end in pairwise([*bounds, len(parsed.lines) + 1]):
        start = starts[line]
        section = (
            isinstance(start, Heading) and start.level >= SECTION and not is_document_section(start.text)
        )
        if section or isinstance(start, RoundHeading):
            own = markers[bisect_left(at, line) : bisect_left(at, end)]
            lines = parsed.lines[line - 1 : end - 1]
            yield _FreePart(start, lines, own, line in turns, [*_unread(lines, starts, at)])


def _unread(lines: Sequence[Line], starts: Mapping[int, Start], markers: list[int]) -> Iterator[_Unread]:
    """Yield the headings that were read as nothing but text or a section's title."""
    headings = [
        (line.number, heading)
        for line in lines
        if not line.hidden and line.text.lstrip()[:1] == "#" and (heading := read_heading(line.text))
    ]
    ends = [*(line for line, _ in headings), lines[-1].number + 1][1:]
    for (line, heading), end in zip(headings, ends, strict=False):
        if isinstance(starts.get(line), Heading | None) and SECTION <= heading.level <= DEEPEST:
            yield _Unread(line, heading, bisect_left(markers, end) > bisect_left(markers, line))


def _bare_names(parts: list[_FreePart]) -> set[str]:
    """Return headings that are names in several rounds without turns that have no other headings."""
    silent = [part for part in parts if isinstance(part.start, RoundHeading) and not part.has_turns]
    texts_of_parts = [
        {unread.heading.text for unread in part.unread if unread.heading.level == TURN} for part in silent
    ]
    if not all(_is_bare_name(text) for texts in texts_of_parts for text in texts):
        return set()
    marked = any(unread.marked for part in silent for unread in part.unread)
    if not marked and any(len(texts) == 1 for texts in texts_of_parts):
        return set()  # `### Summary` of each round
    counts = Counter(text for texts in texts_of_parts for text in texts)
    return {text for text, count in counts.items() if count > 1}


def _is_bare_name(text: str) -> bool:
    """Return True for one to three words that begin like a name's: `Alice`."""
    words = text.split()
    letters = all(c.isalnum() or c in ".'’-" for word in words for c in word)
    plain = letters and PICTORIAL.isdisjoint("".join(words))
    return 0 < len(words) <= _MAX_WORDS and plain and words[0][0].isalpha() and is_capitalised(text)


def _stranger(unread: _Unread, part: Start, names: ExpertNames) -> AgentHeading | None:
    """Return the turn of an unknown name beside an emoji, such as `#### Scone 🍪`; a topic's heading is none."""
    text, emoji = split_emoji(unread.heading.text)
    name, extra = split_name(text)
    if not may_be_emoji_of_turn(emoji) or not name or names.get(name):
        return None
    if isinstance(part, Heading) and read_agent(unread.heading, names):
        return None  # the heading of its section is reported
    bare = unread.marked and _is_bare_name(name) and unread.heading.text.endswith(emoji)
    if not is_person(emoji) and not bare:
        return None  # a topic with the emoji of a thing: `### Storage 💾`
    like = AgentHeading(name, emoji if is_person(emoji) else EXPERT_EMOJI, extra)
    read = read_heading(str(like))
    return like if read and read_agent(read, ExpertNames()) == like else None


def _unread_speech(part: _FreePart, names: ExpertNames, numbers: set[int]) -> Iterator[Lookalike]:
    """Yield the first line in which an expert speaks in a part without turns."""
    if part.has_turns:
        return
    mention = read_round(part.start) if isinstance(part.start, Heading) else None
    in_round = isinstance(part.start, RoundHeading)
    spoken = next((lookalike for line in part.lines[1:] for lookalike in _spoken(line, names)), None)
    if part.markers and (in_round or (mention and mention.number not in numbers)):
        spoken = spoken or Lookalike(part.markers[0].line, str(part.markers[0]), None)
    if spoken and (part.markers or in_round):
        yield spoken


def _spoken(line: Line, names: ExpertNames) -> Iterator[Lookalike]:
    """Yield a line that begins with who speaks: a name, an id of the panel (`**E1**: x`), `**Expert 3**: x`."""
    is_text = not line.hidden and line.text.lstrip()[:1] != "|"
    name = split_name(speaker_label(line.text)[0])[0] if is_text else ""
    expert = names.get(name) or names.by_cell(name) if name else None
    word, _, number = name.partition(" ")
    if expert or (word.casefold() in ROLE_WORDS - {"round"} and number.isdecimal()):
        like = expert and AgentHeading(expert.name, expert.emoji or EXPERT_EMOJI)
        yield Lookalike(line.number, line.text.strip(), str(like) if like else None)


def _joined(text: str, names: ExpertNames) -> AgentHeading | None:
    """Return the turn of the first of several experts, with the others beside: `Muffin & Scone`."""
    joined = text
    for mark in _JOINTS:
        joined = joined.replace(mark, "\n")
    experts = [names.get(split_name(name.strip())[0]) for name in joined.split("\n")]
    known_experts = [expert for expert in experts if expert is not None]
    if len(known_experts) < 2 or len(known_experts) < len(experts):
        return None
    first, *others = known_experts
    emoji = first.emoji if is_expert_emoji(first.emoji) else EXPERT_EMOJI
    return AgentHeading(first.name, emoji, "with " + ", ".join(expert.name for expert in others))
