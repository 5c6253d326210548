"""Starts of turns: headings in all accepted spellings, and lines that begin with the speaker.

    ### Muffin 🧁
    ### 🧁 **Muffin** (Analyst)
    **Muffin** (UX): Clean

A line counts in a round where no heading begins a turn.

Source: RFC 0028, "Core Type" and "Tolerance Policy".
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ....models.alignment.vocabulary import (
    DASHES,
    EXPERT_EMOJI,
    FROM_WORDS,
    JUDGE_EMOJI,
    ORNAMENTS,
    ROLE_WORDS,
    SPEAKING_WORDS,
)
from ..text.line_text import PICTORIAL, is_emoji, is_item, one_line, plain, split_emoji, to_ascii_width
from .headings import EXTRA, SECTION, TURN, AgentHeading, Heading, read_heading, read_judge, without_markup
from .names import Expert, ExpertNames, is_bare_name, is_judge, split_name
from .round_headings import read_round

_AFTER_EMOJI = ("(", "[", "{", "<", *DASHES, "→", "|", ":")
#: Maximum number of words of a name.
_MOST_WORDS = 5


def read_agent(heading: Heading, names: ExpertNames) -> AgentHeading | None:
    """Return the expert whose turn a heading begins, or None: a heading like any other."""
    if heading.level < SECTION:
        return None
    text, emoji, extra = _split_agent(heading.text)
    text = _without_role_word(text)
    name, more = split_name(text)
    if not name or is_judge(name):
        return None
    known = names.get(name)
    if known is None and (prefix := _known_prefix(text, names, named_by_emoji=is_expert_emoji(emoji))):
        known, more = prefix
    if known is None and is_expert_emoji(emoji):
        known = names.by_first_name(name)
    if known is None and not _looks_like_a_turn(heading, name, emoji, names):
        return None
    name = known.name if known else name
    written = _emoji_of(heading, emoji, known)
    # Further emoji are the author's, too: they stay, in the name or beside it.
    kept = {written, *f"{name} {more} {extra}".split()}
    others = (it for it in heading.text.split() if is_emoji(it) and it not in kept)
    found = AgentHeading(name, written, " ".join(filter(None, (more, extra, *others))))
    return found if is_canonical(found) else None


def _emoji_of(heading: Heading, emoji: str, known: Expert | None) -> str:
    """Return the emoji of a turn: the written one, which may be an ornament if the name is known."""
    of_panel = known.emoji if known and may_be_emoji_of_turn(known.emoji) else ""
    written = emoji if is_expert_emoji(emoji) or (known and may_be_emoji_of_turn(emoji)) else ""
    if of_panel in heading.text.split() and not is_expert_emoji(written):
        return of_panel
    return written or of_panel or EXPERT_EMOJI


def may_be_emoji_of_turn(emoji: str) -> bool:
    """Return True for an emoji that a turn's heading may have, also one that decorates other headings."""
    return bool(emoji) and is_emoji(emoji) and emoji != JUDGE_EMOJI


def is_expert_emoji(emoji: str) -> bool:
    """Return True for an emoji that makes a person's heading of one with an unknown name."""
    return may_be_emoji_of_turn(emoji) and emoji not in ORNAMENTS


@lru_cache(maxsize=4096)
def is_canonical(agent: AgentHeading) -> bool:
    """Return whether the heading that is written for this expert is read as the same."""
    heading = read_heading(str(agent))
    if heading is None or read_round(heading) or read_judge(heading):
        return False
    text, emoji, extra = _split_agent(heading.text)
    return split_name(text) == (agent.name, "") and (emoji, extra) == (agent.emoji, agent.extra)


def _split_agent(text: str) -> tuple[str, str, str]:
    """Return name, emoji and the rest of a heading; the emoji follows the name or precedes it."""
    words = text.split(" ")
    for i, word in enumerate(words[1:], start=1):
        if (i == len(words) - 1 or words[i + 1] == EXTRA) and is_emoji(word):
            return " ".join(words[:i]), word, " ".join(words[i + 2 :])
    for i, word in enumerate(words[1:-1], start=1):
        follows = words[i + 1]
        if is_emoji(word) and (follows.startswith(_AFTER_EMOJI) or follows.casefold() in SPEAKING_WORDS):
            return " ".join(words[:i]), word, " ".join(words[i + 1 :]).lstrip(DASHES + ":| ")
    return *split_emoji(text), ""


def _without_role_word(text: str) -> str:
    """Return the name in `Expert 1: Muffin`, `Turn 2 — Muffin`, `Response from Muffin`: `Muffin`."""
    words = text.split(" ")
    if words[0].casefold() in FROM_WORDS or (
        words[0].casefold() in SPEAKING_WORDS and len(words) > 1 and words[1].casefold() in FROM_WORDS
    ):
        return " ".join(words[1 if words[0].casefold() in FROM_WORDS else 2 :]) or text
    for mark in (":", " — ", " – ", " - "):
        review_context, _, name = text.partition(mark)
        word = review_context.casefold().rstrip("# 0123456789")
        if word in ROLE_WORDS and name.strip():
            return name.strip()
    return text


def _known_prefix(text: str, names: ExpertNames, *, named_by_emoji: bool) -> tuple[Expert, str] | None:
    """Return the expert whose name `text` begins with, and the rest, if it may be part of a turn's heading.

    `named_by_emoji`: the heading has a person's emoji, and may contain any text.
    """
    words = plain(without_markup(text)).split(" ")
    for length in range(min(_MOST_WORDS, len(words) - 1), 0, -1):
        expert = names.get(" ".join(words[:length]))
        if expert is None:
            continue
        if is_expert_emoji(words[length]):
            return expert, " ".join(words[length + 1 :])
        more = " ".join(words[length:])
        first = words[length].casefold().strip(",.:()")
        spoken = first in SPEAKING_WORDS or (first[:1] == "r" and first[1:].isdecimal())
        return (
            (expert, more)
            if named_by_emoji or spoken or more.casefold() == plain(expert.role).casefold()
            else None
        )
    return None


def _looks_like_a_turn(heading: Heading, name: str, emoji: str, names: ExpertNames) -> bool:
    """Return whether a heading begins the turn of an expert who is not in the panel, by its emoji."""
    if not is_expert_emoji(emoji):
        return False
    if emoji == EXPERT_EMOJI:
        return heading.level <= TURN + 1
    if heading.level != TURN:
        return False
    if names and not names.heard:
        return names.has_emoji(emoji) or is_bare_name(name)
    canonical = heading.text.startswith(name)
    return canonical or all(word[:1].isupper() or word[:1].isdecimal() for word in name.split())


_BOLD = ("**", "__")
_EMOJI = "".join(sorted(PICTORIAL))
_LONGEST = 80


class SpeakerLine(NamedTuple):
    """The speaker, the text beside the name, and the text of the turn in the same line."""

    expert: Expert
    extra: str
    said: str


def speaker_of(line: str, names: ExpertNames) -> SpeakerLine | None:
    """Return the speaker who begins in `line`, or None."""
    label, said = speaker_label(line)
    name, extra = split_name(label)
    expert = names.get(name) if name else None
    return SpeakerLine(expert, extra, one_line(said)) if expert else None


def speaker_label(line: str) -> tuple[str, str]:
    """Return the text in the place of a speaker's name, and the words after it; two empty texts for any other line."""
    text = line.strip()
    body = text.lstrip("> ")
    quoted = body != text
    if body and is_item(body):
        body, quoted = body.partition(" ")[2].lstrip(), True
    bare = body.lstrip(_EMOJI)
    bare = bare[1:] if bare[:3] in ("***", "___") else bare
    if bare[:2] in _BOLD:
        label, said = _bold(bare)
    else:
        label, said = ("", "") if quoted or not body else _plain(body)
    return (label, said) if len(label) <= _LONGEST else ("", "")


def _bold(text: str) -> tuple[str, str]:
    """Return label and words of `**Muffin:** x`, `**Muffin** 🧁 (UX) — x`, `**Muffin**`; otherwise two empty texts."""
    end = text.find(text[:2], 2)
    if end < 0:
        return "", ""
    label, rest = text[2:end].strip(), text[end + 2 :].lstrip(_EMOJI + "*_")
    if label.endswith(":") or not rest:
        return label.rstrip(": "), rest
    beside = rest[: rest.find(")") + 1] if rest[0] == "(" else ""
    rest = rest[len(beside) :].lstrip()
    return (f"{label} {beside}", rest[1:]) if rest[:1] in (":", *DASHES) and rest else ("", "")


def _plain(text: str) -> tuple[str, str]:
    """Return label and words of `Muffin 🧁: x`, and of `🧁 Muffin` alone."""
    label, colon, _ = to_ascii_width(text[:_LONGEST]).partition(":")
    if colon:
        return label, text[len(label) + 1 :]
    return (text, "") if text[:1] in PICTORIAL or text[-1:] in PICTORIAL else ("", "")
