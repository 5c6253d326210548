"""The experts of a document, and the headings and lines with which their turns begin.

    ### Muffin 🧁
    ### 🧁 **Muffin** (Analyst)
    **Muffin** (UX): Clean

In a document without a panel and a metadata line `Participants`, a heading `### Name emoji` is a turn. A line counts
in a round where no heading begins a turn.

Source: RFC 0028, "Core Type" and "Tolerance Policy".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from ...models.alignment.vocabulary import (
    DASHES,
    DIMENSIONS,
    EXPERT_EMOJI,
    HONORIFICS,
    JUDGE,
    JUDGE_EMOJI,
    ORNAMENTS,
    PERSON_COLUMNS,
    ROLE_WORDS,
)
from .headings import (
    DEEPEST,
    EXTRA,
    SECTION,
    TURN,
    AgentHeading,
    Heading,
    is_panel,
    read_heading,
    read_judge,
    read_round,
    without_markup,
)
from .tables import Table
from .text import PICTORIAL, is_emoji, is_item, is_person, one_line, plain, split_emoji, to_ascii_width

#: Texts that end a name in a heading or a cell.
_CUTS = ("—", " – ", " - ", "- ", " · ", " / ", " → ", " -> ", ":", " (", " [", " | ", ",", "'s ", "’s ")
_MAX_TITLES = 3
#: Columns of a panel that say what an expert does.
_ROLES = ("role", "domain", "expertise")
#: Column headings that make a table of people a panel, at any place.
_PANEL_COLUMNS = frozenset({*_ROLES, "tier", "relevance", "emoji"})


@dataclass(frozen=True, slots=True)
class Expert:
    """One row of the panel: name, emoji and role; `cells`: its other cells, such as an id."""

    name: str
    emoji: str = ""
    role: str = ""
    cells: tuple[str, ...] = ()


@dataclass(slots=True)
class ExpertNames:
    """The experts by name, in the order of the panel.

    `heard`: the experts took turns without an introduction, so there may be more.
    """

    experts: dict[str, Expert] = field(default_factory=dict)
    heard: bool = False
    #: Names without titles such as `Dr.`; None if ambiguous.
    _untitled: dict[str, Expert | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.experts)

    def add(self, expert: Expert) -> None:
        """Add an expert; the first row of a name counts, and the judge is not an expert."""
        key = _key(expert.name)
        if key and key not in self.experts and not is_judge(expert.name):
            self.experts[key] = expert
            bare = _without_title(key)
            self._untitled[bare] = None if bare in self._untitled else expert

    def get(self, name: str) -> Expert | None:
        """Return the expert of this name in any case; `Dr. Ada Lovelace` is Ada Lovelace if no other expert fits."""
        key = _key(name)
        return self.experts.get(key) or self._untitled.get(_without_title(key))

    def by_cell(self, text: str) -> Expert | None:
        """Return the only expert whose row of the panel has a cell with this text, such as an id."""
        matches = [expert for expert in self.experts.values() if text.casefold() in expert.cells]
        return matches[0] if len(matches) == 1 else None


def _key(name: str) -> str:
    return name.casefold().replace("’", "'")


def _without_title(key: str) -> str:
    """Return the name without titles: `prof. dr. ada lovelace` -> `ada lovelace`; a title alone is a name."""
    for _time in range(_MAX_TITLES):
        title, _, name = key.partition(" ")
        if not name or title.removesuffix(".") not in HONORIFICS:
            break
        key = name
    return key


@lru_cache(maxsize=4096)
def split_name(text: str) -> tuple[str, str]:
    """Return a name and the text after it: `**Muffin** (Systems Architect)` -> `Muffin`, `(Systems Architect)`."""
    name, extra = text, ""
    while True:
        before = name
        name = split_emoji(without_markup(name))[0].lstrip("@")
        cut = min((at for mark in _CUTS if (at := name.find(mark)) > 0), default=len(name))
        name, rest = name[:cut], name[cut:]
        rest = rest.removeprefix("'s").removeprefix("’s").lstrip(" -–—:|,").strip()
        extra = " ".join(filter(None, (rest, extra)))
        bullet, _, numbered = name.partition(" ")
        if bullet.rstrip(".)").isdecimal() and bullet[-1] in ".)":
            name = numbered
        if name == before:
            return name, extra


def is_judge(name: str) -> bool:
    """Return whether the name is that of the judge, with any decoration."""
    words = split_emoji(name)[0].replace("(", " ").split()
    return bool(words) and words[0].casefold() == JUDGE.casefold()


def experts_of(table: Table, *, titled: bool) -> list[Expert]:
    """Return the rows of a panel; empty for any other table. `titled`: the heading above it says that it is one."""
    columns = [plain(cell).casefold() for cell in table.header]
    who = next((i for i, name in enumerate(columns) if name in PERSON_COLUMNS), None)
    scored = {name.casefold() for name in DIMENSIONS} <= {*columns}
    if who is None or scored or not (titled or _PANEL_COLUMNS & {*columns}):
        return []
    role = next((i for i, name in enumerate(columns) if name in _ROLES), None)
    emoji = columns.index("emoji") if "emoji" in columns else who
    return [_expert(row, who, role, emoji) for row in table.rows if len(row) > who]


def _expert(row: tuple[str, ...], who: int, role: int | None, emoji: int) -> Expert:
    own = split_emoji(row[who])[1] or (split_emoji(row[emoji])[1] if emoji < len(row) else "")
    role_text = row[role] if role is not None and role < len(row) else ""
    return Expert(split_name(row[who])[0], own, role_text, tuple(plain(cell).casefold() for cell in row))


def experts_in(text: str) -> list[Expert]:
    """Return the experts of a `Participants` line: `💙 Judge, 🧁 Muffin | 🧁 Scone (systems)`."""
    for mark in ("|", ";", " and ", " & "):
        text = text.replace(mark, ",")
    return [Expert(split_name(part)[0], split_emoji(part)[1]) for part in text.split(",")]


def collect_experts(experts: Iterable[Expert], *, heard: bool = False) -> ExpertNames:
    """Return the names of these experts."""
    names = ExpertNames(heard=heard)
    for expert in experts:
        names.add(expert)
    return names


_AFTER_EMOJI = ("(", "[", "{", "<", *DASHES, "→", "|", ":")
#: Maximum number of words of a name.
_MAX_WORDS = 5


def read_agent(heading: Heading, names: ExpertNames) -> AgentHeading | None:
    """Return the expert whose turn a heading begins, or None: a heading like any other."""
    if heading.level < SECTION or (heading.level == SECTION and is_panel(heading.text)):
        return None
    text, emoji, extra = _split_agent(heading.text)
    text = _without_role_word(text)
    name, more = split_name(text)
    if not name or is_judge(name):
        return None
    expert = names.get(name)
    if expert is None and (prefix := _known_prefix(text, names, named_by_emoji=is_expert_emoji(emoji))):
        expert, more = prefix
    if expert is None and not _looks_like_a_turn(heading, name, emoji, names):
        return None
    name = expert.name if expert else name
    written = _emoji_of(heading, emoji, expert)
    # Further emoji are the author's, too: they stay, in the name or beside it.
    kept = {written, *f"{name} {more} {extra}".split()}
    others = (word for word in heading.text.split() if is_emoji(word) and word not in kept)
    agent = AgentHeading(name, written, " ".join(filter(None, (more, extra, *others))))
    return agent if is_canonical(agent) else None


def _emoji_of(heading: Heading, emoji: str, expert: Expert | None) -> str:
    """Return the emoji of a turn: the written one, which may be an ornament if the name is known."""
    of_panel = expert.emoji if expert and may_be_emoji_of_turn(expert.emoji) else ""
    written = emoji if is_expert_emoji(emoji) or (expert and may_be_emoji_of_turn(emoji)) else ""
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
    if heading is None or read_judge(heading) or ((begun := read_round(heading)) and begun.sure):
        return False
    text, emoji, extra = _split_agent(heading.text)
    return split_name(text) == (agent.name, "") and (emoji, extra) == (agent.emoji, agent.extra)


def _split_agent(text: str) -> tuple[str, str, str]:
    """Return name, emoji and the rest of a heading; the emoji follows the name or precedes it."""
    words = text.split(" ")
    for i, word in enumerate(words[1:], start=1):
        if is_emoji(word) and (i == len(words) - 1 or words[i + 1].startswith(_AFTER_EMOJI)):
            canonical = words[i + 1 : i + 2] == [EXTRA]
            extra = " ".join(words[i + 2 if canonical else i + 1 :])
            return " ".join(words[:i]), word, extra if canonical else extra.lstrip(DASHES + ":| ")
    return *split_emoji(text), ""


def _without_role_word(text: str) -> str:
    """Return the name in `Expert 1: Muffin`, `Turn 2 — Muffin`: `Muffin`."""
    for mark in (":", " — ", " – ", " - "):
        role, _, name = text.partition(mark)
        if role.casefold().rstrip("# 0123456789") in ROLE_WORDS and name.strip():
            return name.strip()
    return text


def _known_prefix(text: str, names: ExpertNames, *, named_by_emoji: bool) -> tuple[Expert, str] | None:
    """Return the expert whose name `text` begins with, and the rest: `Muffin Response`.

    The rest is in capitals like a heading's, or anything if the heading has a person's emoji (`named_by_emoji`).
    """
    words = plain(without_markup(text)).split(" ")
    for length in range(min(_MAX_WORDS, len(words) - 1), 0, -1):
        expert = names.get(" ".join(words[:length]))
        if expert is None:
            continue
        if is_expert_emoji(words[length]):
            return expert, " ".join(words[length + 1 :])
        more = " ".join(words[length:])
        return (expert, more) if named_by_emoji or is_capitalised(more) else None
    return None


def is_capitalised(text: str) -> bool:
    """Return True for words that begin like a name's, with a capital or a number."""
    return all(word[0].isalnum() and not word[0].islower() for word in text.split())


def _looks_like_a_turn(heading: Heading, name: str, emoji: str, names: ExpertNames) -> bool:
    """Return whether a heading begins the turn of an expert who is not in the panel, by its emoji."""
    if emoji == EXPERT_EMOJI:
        return heading.level <= DEEPEST
    if heading.level != TURN or not is_expert_emoji(emoji):
        return False
    if names and not names.heard:
        of_panel = any(emoji == expert.emoji for expert in names.experts.values())
        return of_panel or (is_person(emoji) and is_capitalised(name))
    return heading.text.startswith(name) or is_capitalised(name)


_BOLD = ("**", "__")
_EMOJI = "".join(sorted(PICTORIAL))
_LONGEST = 80


class SpeakerLine(NamedTuple):
    """The turn that a line begins, and the words of the turn in the same line."""

    heading: AgentHeading
    said: str
    #: Number of characters of the line before these words.
    before: int


def speaker_of(line: str, names: ExpertNames) -> SpeakerLine | None:
    """Return the speaker who begins in `line`, or None."""
    label, text = speaker_label(line)
    name, extra = split_name(label)
    expert = names.get(name) if name else None
    if expert is None:
        return None
    emoji = expert.emoji if may_be_emoji_of_turn(expert.emoji) else EXPERT_EMOJI
    headings = (AgentHeading(expert.name, emoji, extra), AgentHeading(expert.name, emoji))
    heading = next(filter(is_canonical, headings), None)
    before = len(line.rstrip()) - len(text.strip())
    return SpeakerLine(heading, one_line(text), before) if heading else None


def speaker_label(line: str) -> tuple[str, str]:
    """Return the text in the place of a speaker's name, and the words after it; two empty texts for any other line."""
    text = line.strip()
    body = text.lstrip("> ")
    if not body or body[0] == "\\":
        return "", ""
    listed = is_item(body)
    body = body.partition(" ")[2].lstrip() if listed else body
    bare = body.lstrip(_EMOJI)
    if bare[:2] in _BOLD:
        label, rest = _bold(bare)
    elif listed or (text[0] == ">" and bare == body):
        return "", ""  # in a list or a quote, a name alone is no speaker's
    else:
        label, rest = _plain(body)
    return (label, rest) if len(label) <= _LONGEST else ("", "")


def _bold(text: str) -> tuple[str, str]:
    """Return label and words of `**Muffin:** x`, `**Muffin** 🧁 (UX) — x`, `**Muffin**`; otherwise two empty texts."""
    end = text.find(text[:2], 2)
    if end < 0:
        return "", ""
    label, rest = text[2:end].strip(), text[end + 2 :].lstrip(_EMOJI)
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
