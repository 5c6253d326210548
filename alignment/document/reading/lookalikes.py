"""Lines that look like rounds and turns to people but not to the parser, so that they would be lost silently.

A line in a document without rounds, a heading with the number of a round that no other has, an expert's heading that
begins no turn, and a round without turns in which somebody speaks are reported. A backslash before the words marks
them as plain text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ....models.alignment.vocabulary import EXPERT_EMOJI, ROLE_WORDS
from ..headings.headings import (
    SECTION,
    TITLE,
    TURN,
    AgentHeading,
    Heading,
    RoundHeading,
    is_document_section,
    read_heading,
    without_markup,
)
from ..headings.names import ExpertNames, is_bare_name, is_panel, is_topic, split_name
from ..headings.round_headings import MOST_ROUNDS, first_word, read_round, strip_decoration
from ..headings.turn_headings import is_expert_emoji, may_be_emoji_of_turn, read_agent, speaker_label
from ..markers.markers import Marker
from ..model import AlignmentDialogue, names_of
from ..parts import Block, Judge, Part, Prose, Round, Section
from ..scan import LineReader
from ..text.line_text import plain, split_emoji

_ROUND = "round"
_LONGEST = 200
#: Separators between the names of several experts.
_JOINTS = (" & ", " and ", " + ", " / ", ",")


class Lookalike(NamedTuple):
    """A line by its number from 1, what it reads like, and the heading to write instead, if known."""

    line: int
    text: str
    hint: str | None


def unread_rounds(document: AlignmentDialogue, markdown: str) -> Iterator[Lookalike]:
    """Yield the lines that read like rounds, in a document without one, and headings of rounds that are none."""
    if _ROUND not in markdown.casefold():
        return
    begun = {part.line for part in document.rounds}
    numbers = {part.number for part in document.rounds}
    for line in LineReader(markdown).lines():
        if line.hidden or line.number in begun:
            continue
        like = _reads_like_new_round(line.text, numbers) if begun else reads_like_round(line.text)
        fraction = _fraction(line.text)
        if like or fraction:
            yield Lookalike(line.number, line.text.strip(), str(like) if like else None)


def _reads_like_new_round(line: str, numbers: set[int]) -> RoundHeading | None:
    """Return the round of a subheading that has the form of a round's, with a number that no round has."""
    heading = read_heading(line) if line.lstrip()[:1] == "#" else None
    found = read_round(heading) if heading and heading.level > SECTION else None
    return found if found and found.number not in numbers and found.number <= MOST_ROUNDS else None


def _fraction(line: str) -> bool:
    """Return True for `## Round 1.5`: a heading of a round whose number is none."""
    heading = read_heading(line) if line.lstrip()[:1] == "#" else None
    word, rest = first_word(strip_decoration(heading.text)) if heading else ("", "")
    whole, point, part = rest.strip().partition(".")
    return word == _ROUND and point != "" and whole.isdecimal() and part[:1].isdecimal()


class _Unread(NamedTuple):
    """A heading that begins no part and no turn, its line, and the part that contains it."""

    line: int
    heading: Heading
    part: Part


def unread_turns(document: AlignmentDialogue, markdown: str) -> Iterator[Lookalike]:
    """Yield headings that look like turns but begin none, and speech in rounds without turns."""
    names = names_of(document.metadata, document.preamble, document.parts)
    unread = (
        list(_unread_headings(document, markdown)) if "##" in markdown and (document.rounds or names) else []
    )
    bare = _bare_names(unread) if not names else set()
    for it in unread:
        like = _joined(it.heading.text, names) if it.heading.level == TURN else None
        like = like or _stranger(it, names)
        if like is None and it.heading.text in bare and it.heading.level == TURN:
            like = AgentHeading(it.heading.text)
        if like is not None:
            yield Lookalike(it.line, f"{'#' * it.heading.level} {it.heading.text}", str(like))
    for part in document.parts:
        speech = _unread_speech(part, names)
        if speech is not None:
            yield speech


def _unread_headings(document: AlignmentDialogue, markdown: str) -> Iterator[_Unread]:
    """Yield the headings in rounds and free sections that were read as nothing but text or a section's title."""
    parts = [part for part in document.parts if part.line]
    turns = {turn.line for part in document.rounds for turn in part.turns}
    at = -1
    for line in LineReader(markdown).lines() if parts else ():
        while at + 1 < len(parts) and parts[at + 1].line <= line.number:
            at += 1
        part = parts[at] if at >= 0 else None
        if part is None or line.hidden or line.number in turns or line.text.lstrip()[:1] != "#":
            continue
        heading = read_heading(line.text)
        begun = line.number == part.line and not isinstance(part, Section)
        if heading and SECTION <= heading.level <= TURN + 1 and _is_free(part) and not begun:
            yield _Unread(line.number, heading, part)


def _is_free(part: Part) -> bool:
    """Return whether experts may speak in a part: not in the judge's, a panel and the like."""
    if isinstance(part, Judge):
        return False
    return isinstance(part, Round) or not (is_document_section(part.title) or is_panel(part.title))


def _bare_names(unread: list[_Unread]) -> set[str]:
    """Return headings that are names in several rounds without turns that have no other headings."""
    silent: dict[int, list[str]] = {}
    for it in unread:
        if isinstance(it.part, Round) and not it.part.turns and it.heading.level == TURN:
            silent.setdefault(it.part.line, []).append(it.heading.text)
    if not all(is_bare_name(text) for texts in silent.values() for text in texts):
        return set()
    counts = Counter(text for texts in silent.values() for text in {*texts})
    return {text for text, count in counts.items() if count > 1}


def _stranger(it: _Unread, names: ExpertNames) -> AgentHeading | None:
    """Return the turn of an unknown name beside an emoji, such as `#### Scone 🍪`; a topic's heading is none."""
    text, emoji = split_emoji(it.heading.text)
    name, extra = split_name(text)
    if not may_be_emoji_of_turn(emoji) or not name or is_topic(text) or names.get(name):
        return None
    if isinstance(it.part, Section) and read_agent(it.heading, names):
        return None  # the heading of its section is reported
    if is_expert_emoji(emoji) or (is_bare_name(name) and it.heading.text.endswith(emoji)):
        like = AgentHeading(name, emoji if is_expert_emoji(emoji) else EXPERT_EMOJI, extra)
        read = read_heading(str(like))
        return like if read and read_agent(read, ExpertNames()) == like else None
    return None


def _unread_speech(part: Part, names: ExpertNames) -> Lookalike | None:
    """Return the first line of a part in which somebody speaks although no turn was read."""
    if not _is_free(part) or (isinstance(part, Round) and part.turns):
        return None
    markers = [block for block in part.blocks if isinstance(block, Marker) and block.line]
    spoken = next((it for block in part.blocks for it in _speakers(block, names)), None)
    if isinstance(part, Section):
        return spoken if markers and spoken else None
    return spoken or next((Lookalike(it.line, str(it), None) for it in markers), None)


def _speakers(block: Block, names: ExpertNames) -> Iterator[Lookalike]:
    """Yield lines that begin with who speaks: a name, an id of the panel (`**E1**: x`), `**Expert 3**: x`."""
    if not isinstance(block, Prose) or not block.line:
        return
    for line in LineReader(block.text + "\n").lines():
        name = "" if line.hidden else split_name(speaker_label(line.text)[0])[0]
        expert = names.get(name) or names.by_cell(name) if name else None
        word, _, number = name.partition(" ")
        if expert or (word.casefold() in ROLE_WORDS - {_ROUND} and number.isdecimal()):
            like = expert and AgentHeading(expert.name, expert.emoji or EXPERT_EMOJI)
            yield Lookalike(block.line + line.number - 1, line.text.strip(), str(like) if like else None)


def reads_like_round(line: str) -> RoundHeading | None:
    """Return the round of `> ## Round 1`, `<h2>Round 1</h2>`, `**Round 1**: X`, `Round 1: X`."""
    text = line.strip().lstrip("> ")
    if len(text) > _LONGEST or _ROUND not in text.casefold():
        return None
    if text[0] == "#":
        heading = read_heading(text)  # a title is one, with any text
        return read_round(Heading(SECTION, heading.text)) if heading and heading.level > TITLE else None
    if text[:2].casefold() == "<h" and text[2:3].isdecimal():
        return read_round(Heading(SECTION, without_markup(text)))
    if not text.lstrip("*_").casefold().startswith(_ROUND):
        return None
    said = plain(without_markup(text))
    # `Round: 1` says which one it is, and begins none; in a sentence, words follow the number.
    counted = read_round(Heading(TURN, said.partition(":")[0].replace("__", "")))
    return counted and read_round(Heading(TURN, said))


def _joined(text: str, names: ExpertNames) -> AgentHeading | None:
    """Return the turn of the first of several experts, with the others beside: `Muffin & Scone`."""
    joined = text
    for mark in _JOINTS:
        joined = joined.replace(mark, "\n")
    experts = [names.get(split_name(name.strip())[0]) for name in joined.split("\n")]
    known = [it for it in experts if it is not None]
    if len(known) < 2 or len(known) < len(experts):
        return None
    first, *others = known
    emoji = first.emoji if is_expert_emoji(first.emoji) else EXPERT_EMOJI
    return AgentHeading(first.name, emoji, "with " + ", ".join(it.name for it in others))
