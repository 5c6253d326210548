"""Participants that a text names, as models and people write names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ..protocol.collab import Participant, find_participant_or_role, find_participants
from .lines import unwrap

#: Maximum number of names of an answer that are looked up.
MAX_NAMES = 1_000
_MAX_NAME = 200
#: Maximum words of a name that a sentence begins with.
_MAX_NAME_WORDS = 8
_EDGES = "*_`~-+>#• \t.\"'“”\u2018\u2019()[]{}@!"
_SEPARATORS = re.compile(r"[\W_]+")
_BETWEEN = re.compile(r"\s(?:and|&|then|\+)\s|\s?(?:->|→|=>)\s?|[,;\n]")
_REST = re.compile(
    r"(?<!\s)(?:\s+[-\u2013—]+\s+|\s*[\u2013—]\s*|\s+\(|\s+(?=because\b|since\b|who\b|as\s|so\s))|:\s+"
)
_LEADING = re.compile(r"^(?:(?:and|then)\s+)+", re.IGNORECASE)
_REASON = re.compile(r"^(?:because|since|as|for|so|to|who|which|that|it|they|he|she)\b", re.IGNORECASE)
_EITHER = re.compile(r"\sor\s|\s?/\s?", re.IGNORECASE)
NOBODY = frozenset({"none", "nobody", "no one", "noone", "n/a", ""})
_EVERYBODY = frozenset({"all", "everyone", "everybody", "all of them", "all participants", "all others"})


@dataclass(frozen=True, slots=True)
class NamedSpeakers:
    """Speakers that a text names: ids, or names as they were written if they are unknown or ambiguous."""

    names: tuple[str, ...] = ()
    #: Text after a colon behind a name, by name.
    instructions: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    #: Whether all participants are meant, side by side.
    everybody: bool = False
    #: Names of which one is to be chosen.
    choices: tuple[str, ...] = ()


class Names:
    """Names of the participants of a session, with a lookup whose time does not grow with the roster."""

    def __init__(self, roster: Sequence[Participant]) -> None:
        self.roster = roster
        self._ids: dict[str, tuple[str, ...]] = {}
        for label in ("display_name", "role_id", "participant_id"):
            by_name: dict[str, tuple[str, ...]] = {}
            for participant in roster:
                if key := plain_name(getattr(participant, label) or ""):
                    by_name[key] = (*by_name.get(key, ()), participant.participant_id)
            self._ids |= by_name

    def find(self, name: str) -> tuple[str, ...]:
        """Return the ids of the participants that a name may mean."""
        if len(name) > _MAX_NAME + len(_EDGES):
            return ()
        return find_participants(name, self.roster[:MAX_NAMES]) or self._ids.get(plain_name(name), ())

    def resolve(self, name: str) -> str:
        """Return the id of the one participant who is meant; the name as it was written for none or several."""
        ids = self.find(name)
        return ids[0] if len(ids) == 1 else _bare(name)

    def first(self, text: str) -> str:
        """Return the name that a text begins with, as in `ben, he has the keys`; the text if it begins with none."""
        name = next(iter(self.read([text]).names), text)
        if self.find(name):
            return name
        words = name.split(maxsplit=_MAX_NAME_WORDS)
        starts = (" ".join(words[:end]) for end in range(len(words) - 1, 0, -1) if words[end][0].islower())
        return next((start for start in starts if self.find(start)), name)

    def resolve_role(self, name: str) -> str:
        """Return the id of the participant, or the role, that is meant; the name as it was written for neither."""
        bare = _bare(name)
        return (
            find_participant_or_role(name, self.roster) or find_participant_or_role(bare, self.roster) or bare
        )

    def in_text(self, text: str) -> list[str]:
        """Return the ids of the participants whose name stands in a text, as whole words, in roster order."""
        padded = f" {plain_name(text)} "
        return [
            participant.participant_id
            for participant in self.roster
            if any(
                name and f" {plain_name(name)} " in padded
                for name in (participant.participant_id, participant.display_name, participant.role_id)
            )
        ]

    def read(self, texts: Iterable[str]) -> NamedSpeakers:
        """Return the speakers of texts such as `coder, tester`, `coder (knows it)` or one name per line."""
        speakers: list[str] = []
        instructions: list[tuple[str, str]] = []
        reason: list[str] = []
        everybody, choices = False, []
        for part in islice(self._parts(texts), MAX_NAMES):
            if (reason or _REASON.match(part)) and not self.find(part):
                reason.append(part)
                continue
            name, told, why = self._split_rest(part)
            if not self.find(name):
                either = [ids[0] for side in _EITHER.split(name) if len(ids := self.find(side)) == 1]
                if len(either) > 1:
                    choices += either
                    continue
                if plain_name(name) in _EVERYBODY:
                    everybody = True
                    continue
                if plain_name(name) in NOBODY:
                    continue
                if speakers and len(name.split()) > 3:
                    reason.append(part)
                    continue
            speakers.append(self.resolve(name))
            if told:
                instructions.append((speakers[-1], told))
            if why:
                reason.append(why)
        return NamedSpeakers(
            tuple(speakers), tuple(instructions), ", ".join(reason), everybody, tuple(dict.fromkeys(choices))
        )

    def _parts(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the parts of texts between names; the name of a participant is never divided."""
        for text in texts:
            for line in text.splitlines():
                if self.find(line):
                    yield line
                    continue
                pieces: list[str] = []
                told = re.match(r"[^,;:]{1,200}:\s", line)
                if told and self.find(told[0].strip()[:-1]):
                    yield line
                    continue
                for piece in re.split(r"[,;]", line):
                    pieces += [piece] if self.find(piece) else _BETWEEN.split(f" {piece} ")
                yield from (_LEADING.sub("", piece.strip()) for piece in pieces if piece.strip())

    def _split_rest(self, part: str) -> tuple[str, str, str]:
        """Return a name, the instruction behind a colon, and the reason behind other marks."""
        if self.find(part):
            return part, "", ""
        match = _REST.search(part)
        if match is None or not match.start() or part.lstrip()[:1] == "(":
            return part, "", ""
        name, rest = part[: match.start()], part[match.end() :].strip()
        if match[0].strip() == ":":
            return name, rest, ""
        return name, "", rest.removesuffix(")")


def plain_name(name: str) -> str:
    """Return a name without case, marks and separators, to compare names."""
    return _SEPARATORS.sub(" ", name).casefold().strip()


def _bare(name: str) -> str:
    return unwrap(name).strip(_EDGES)[:_MAX_NAME]
