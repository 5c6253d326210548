"""Lines that look like rounds and turns to people but not to the parser, so that they would be lost silently.

They are reported only if nothing of the kind was read: rounds in a document without any, turns in a round
without turns. A backslash before the words marks them as plain text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ...vocabulary import (
    EXPERT_EMOJI,
    JUDGE,
    JUDGE_WORDS,
    ROUND_OUTCOME_WORDS,
    ROUND_SUMMARY_WORDS,
    SECTION_WORDS,
    SPEAKING_WORDS,
    TOPIC_ENDINGS,
    TOPIC_WORDS,
)
from ..headings.headings import (
    SECTION,
    TITLE,
    TURN,
    AgentHeading,
    Heading,
    RoundHeading,
    read_heading,
    without_markup,
)
from ..headings.names import ExpertNames, split_name
from ..headings.round_headings import read_round
from ..headings.turn_headings import is_expert_emoji
from ..model import AlignmentDialogue, names_of
from ..parts import Round
from ..scan import Line, LineReader
from ..text.line_text import PICTORIAL, plain

_ROUND = "round"
_LONGEST = 200
_MOST_WORDS = 3
#: Separators between the names of several experts.
_JOINTS = (" & ", " and ", " + ", " / ", ",")
#: Words of headings that describe their content, not a speaker.
_NO_NAMES = (
    ROUND_SUMMARY_WORDS
    | JUDGE_WORDS
    | ROUND_OUTCOME_WORDS
    | SECTION_WORDS
    | SPEAKING_WORDS
    | TOPIC_WORDS
    | {JUDGE.casefold()}
)


class Lookalike(NamedTuple):
    """A line by its number from 1, what it reads like, and the heading to write instead."""

    line: int
    text: str
    hint: str


def unread_rounds(document: AlignmentDialogue, markdown: str) -> Iterator[Lookalike]:
    """Yield the lines that read like rounds, in a document without one."""
    if document.rounds or _ROUND not in markdown.casefold():
        return
    for line in LineReader(markdown).lines():
        if not line.hidden and (like := reads_like_round(line.text)):
            yield Lookalike(line.number, line.text.strip(), str(like))


def unread_turns(document: AlignmentDialogue, markdown: str) -> Iterator[Lookalike]:
    """Yield the headings that look like turns, in rounds without turns."""
    silent = _headings_of_silent_rounds(document, markdown)
    repeated = Counter(text for headings in silent for text in {heading.text for _, heading in headings})
    names = names_of(document.metadata, document.preamble, document.parts) if silent else ExpertNames()
    for headings in silent:
        # If the participants are known, any other name is a topic; so are all headings beside a topic.
        people = not names and all(_is_bare_name(heading.text) for _, heading in headings)
        for line, heading in headings:
            like = _joined(heading.text, names)
            if like is None and people and repeated[heading.text] > 1:
                like = AgentHeading(heading.text)
            if like is not None:
                yield Lookalike(line.number, line.text.strip(), str(like))


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


def _headings_of_silent_rounds(
    document: AlignmentDialogue, markdown: str
) -> list[list[tuple[Line, Heading]]]:
    """Return, for each round without a turn, its headings of a turn's level."""
    ends = [part.line for part in document.parts[1:]] + [len(markdown) + 2]
    silent = [
        (part.line, end)
        for part, end in zip(document.parts, ends, strict=False)
        if isinstance(part, Round) and not part.turns
    ]
    found: list[list[tuple[Line, Heading]]] = [[] for _ in silent]
    at = 0
    for line in LineReader(markdown).lines() if silent and "###" in markdown else ():
        while at < len(silent) and line.number >= silent[at][1]:
            at += 1
        if at == len(silent):
            break
        if line.number > silent[at][0] and not line.hidden and line.text.lstrip()[:1] == "#":
            heading = read_heading(line.text)
            if heading is not None and heading.level == TURN and len(heading.text) <= _LONGEST:
                found[at].append((line, heading))
    return found


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


def _is_bare_name(text: str) -> bool:
    """Return True for one to three words that begin like a name's, none of which says what is below: `Alice`."""
    words = text.split()
    return 0 < len(words) <= _MOST_WORDS and all(
        word[0].isalpha()
        and not word[0].islower()
        and word.casefold() not in _NO_NAMES
        and not word.casefold().endswith(TOPIC_ENDINGS)
        and PICTORIAL.isdisjoint(word)
        and all(c.isalnum() or c in ".'’-" for c in word)
        for word in words
    )
