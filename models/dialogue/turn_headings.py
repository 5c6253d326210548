"""Headings of turns, in every spelling that is read: `### Muffin 🧁`, `### 🧁 **Muffin** (Analyst)`, `### Expert 2: Muffin`.

Source: RFC 0028, "Core Type" and "Tolerance Policy".
"""

from __future__ import annotations

from functools import lru_cache

from .headings import EXTRA, SECTION, TURN, AgentHeading, Heading, read_heading, read_judge
from .names import Names, is_judge, person
from .round_headings import read_round
from .text import is_emoji, split_emoji
from .words import DASHES, EXPERT_EMOJI, JUDGE_EMOJI, OFFICES, ORNAMENTS, SPEAKING_WORDS

_AFTER_EMOJI = ("(", "[", *DASHES, "→", "|", ":")


def read_agent(heading: Heading, names: Names) -> AgentHeading | None:
    """The expert whose turn a heading begins, or None: a heading like any other."""
    if not SECTION <= heading.level <= TURN + 1:
        return None
    text, emoji, extra = _split_agent(heading.text)
    name, more = person(_without_office(text))
    if not name or is_judge(name):
        return None
    extra = " ".join(filter(None, (more, extra)))
    known = names.get(name)
    if known is None and not _looks_like_a_turn(heading, name, emoji, names):
        return None
    emojis = (e for e in (emoji, known.emoji if known else "") if is_persons(e))
    found = AgentHeading(known.name if known else name, next(emojis, EXPERT_EMOJI), extra)
    return found if is_canonical(found) else None


def is_persons(emoji: str) -> bool:
    """True for an emoji that an expert may go by."""
    return bool(emoji) and is_emoji(emoji) and emoji not in ORNAMENTS and emoji != JUDGE_EMOJI


@lru_cache(maxsize=4096)
def is_canonical(agent: AgentHeading) -> bool:
    """True when the heading that is written for this expert is read as the same."""
    heading = read_heading(str(agent))
    if heading is None or read_round(heading) or read_judge(heading):
        return False
    text, emoji, extra = _split_agent(heading.text)
    return person(text) == (agent.name, "") and (emoji, extra) == (agent.emoji, agent.extra)


def _split_agent(text: str) -> tuple[str, str, str]:
    """Name, emoji and what a heading says besides, with the emoji where it belongs or in front."""
    words = text.split(" ")
    for i, word in enumerate(words[1:], start=1):
        if (i == len(words) - 1 or words[i + 1] == EXTRA) and is_emoji(word):
            return " ".join(words[:i]), word, " ".join(words[i + 2 :])
    for i, word in enumerate(words[1:-1], start=1):
        follows = words[i + 1]
        if is_emoji(word) and (follows.startswith(_AFTER_EMOJI) or follows.casefold() in SPEAKING_WORDS):
            return " ".join(words[:i]), word, " ".join(words[i + 1 :]).lstrip(DASHES + ":| ")
    return *split_emoji(text), ""


def _without_office(text: str) -> str:
    """`Expert 1: Muffin` -> `Muffin`."""
    office, _, name = text.partition(":")
    word, _, number = office.casefold().partition(" ")
    return (
        name.strip() or text if word in OFFICES and number.strip("# ").isdecimal() >= bool(number) else text
    )


def _looks_like_a_turn(heading: Heading, name: str, emoji: str, names: Names) -> bool:
    """Somebody whom the panel does not name, by the emoji."""
    if not is_persons(emoji):
        return False
    if emoji == EXPERT_EMOJI:
        return True
    if heading.level != TURN:
        return False
    if names:
        return names.has_emoji(emoji)
    canonical = heading.text.startswith(name)
    return canonical or all(word[:1].isupper() or word[:1].isdecimal() for word in name.split())
