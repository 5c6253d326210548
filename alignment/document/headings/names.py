"""The experts of a document, by whose names the headings of turns are recognised.

They come from the expert panel or the metadata line `Participants`. In a document with neither, a heading
`### Name emoji` is a turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from ....models.alignment.vocabulary import (
    EXPERT_EMOJI,
    HONORIFICS,
    JUDGE,
    JUDGE_WORDS,
    PANEL_WORDS,
    PERSON_COLUMNS,
    ROUND_OUTCOME_WORDS,
    ROUND_SUMMARY_WORDS,
    SECTION_WORDS,
    SPEAKING_WORDS,
    TOPIC_ENDINGS,
    TOPIC_WORDS,
)
from ..tables import Table
from ..text.line_text import PICTORIAL, plain, split_emoji
from .headings import without_markup

#: Texts that end a name in a heading or a cell.
_CUTS = (
    "—",
    " – ",
    " - ",
    "- ",
    " · ",
    " • ",
    " / ",
    " → ",
    " -> ",
    ":",
    " (",
    " [",
    " | ",
    ",",
    "'s ",
    "’s ",
)

_MOST_TITLES = 3
_MOST_WORDS = 3
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

    def by_first_name(self, name: str) -> Expert | None:
        """Return the only expert whose name begins with this word, titles aside."""
        first = _without_title(_key(name))
        found = [it for key, it in self.experts.items() if _without_title(key).partition(" ")[0] == first]
        return found[0] if len(found) == 1 else None

    def by_cell(self, text: str) -> Expert | None:
        """Return the only expert whose row of the panel has a cell with this text, such as an id."""
        found = [it for it in self.experts.values() if text.casefold() in it.cells]
        return found[0] if len(found) == 1 else None

    def has_emoji(self, emoji: str) -> bool:
        """Return whether an expert of the panel goes by this emoji."""
        return emoji == EXPERT_EMOJI or any(emoji == expert.emoji for expert in self.experts.values())


def _key(name: str) -> str:
    return name.casefold().replace("’", "'")


def _without_title(key: str) -> str:
    """Return the name without titles: `prof. dr. ada lovelace` -> `ada lovelace`; a title alone is a name."""
    for _time in range(_MOST_TITLES):
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
        extra = " ".join(
            filter(None, (rest.removeprefix("'s").removeprefix("’s").lstrip(" -–—:|,").strip(), extra))
        )
        bullet, _, numbered = name.partition(" ")
        if bullet.rstrip(".)").isdecimal() and bullet[-1] in ".)":
            name = numbered
        if name == before:
            return name, extra


def is_topic(text: str) -> bool:
    """Return True for a heading with a word that says what is below, such as `Storage` or `Caching`."""
    words = [word.strip(".,:()'’") for word in text.casefold().split()]
    return any(word in _NO_NAMES or word.endswith(TOPIC_ENDINGS) for word in words)


def is_bare_name(text: str) -> bool:
    """Return True for one to three words that begin like a name's, none of which says what is below: `Alice`."""
    words = text.split()
    return (
        0 < len(words) <= _MOST_WORDS
        and not is_topic(text)
        and all(
            word[0].isalpha()
            and not word[0].islower()
            and PICTORIAL.isdisjoint(word)
            and all(c.isalnum() or c in ".'’-" for c in word)
            for word in words
        )
    )


def is_judge(name: str) -> bool:
    """Return whether the name is that of the judge, with any decoration."""
    words = split_emoji(name)[0].replace("(", " ").split()
    return bool(words) and words[0].casefold() == JUDGE.casefold()


def experts_of(table: Table) -> list[Expert]:
    """Return the rows of a table whose first column names people; empty for any other table."""
    columns = [plain(cell).casefold() for cell in table.header]
    who = next((i for i, name in enumerate(columns) if name in PERSON_COLUMNS), None)
    if who is None:
        return []
    role = next((i for i, name in enumerate(columns) if name in ("role", "domain", "expertise")), None)
    emoji = columns.index("emoji") if "emoji" in columns else None
    return [_expert(row[who:], row, role, emoji) for row in table.rows if len(row) > who]


def _expert(of_name: tuple[str, ...], row: tuple[str, ...], role: int | None, emoji: int | None) -> Expert:
    own = split_emoji(of_name[0])[1]
    if not own and emoji is not None and emoji < len(row):
        own = split_emoji(row[emoji])[1]
    cells = tuple(plain(cell).casefold() for cell in row)
    return Expert(
        split_name(of_name[0])[0], own, row[role] if role is not None and role < len(row) else "", cells
    )


def experts_in(text: str) -> list[Expert]:
    """Return the experts of a `Participants` line: `💙 Judge, 🧁 Muffin | 🧁 Scone (systems)`."""
    for mark in ("|", ";", "·", " and ", " & ", " + "):
        text = text.replace(mark, ",")
    return [Expert(split_name(part)[0], split_emoji(part)[1]) for part in text.split(",")]


def expert_of_item(line: str) -> Expert | None:
    """Return the expert of a list item: `- **🧁 Muffin** — Systems Architect`."""
    text = line.strip()
    bullet = text.split(" ", 1)[0]
    if bullet not in ("-", "*", "+") and not bullet.rstrip(".)").isdecimal():
        return None
    text = text[len(bullet) :].strip()
    name, role = split_name(text)
    return Expert(name, split_emoji(text)[1], plain(role)) if name and len(name.split()) <= 4 else None


@lru_cache(maxsize=4096)
def is_panel(title: str) -> bool:
    """Return True for the heading of a section that names the experts."""
    return any(word in PANEL_WORDS for word in split_emoji(title)[0].casefold().split())


def collect_experts(experts: Iterable[Expert], *, heard: bool = False) -> ExpertNames:
    """Return the names of these experts."""
    names = ExpertNames(heard=heard)
    for expert in experts:
        names.add(expert)
    return names
