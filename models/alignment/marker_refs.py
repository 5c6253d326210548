"""The ids inside a marker: `T04, T05`, `T3/T6/T8`, `on T02`, `P01-P03`, `MUFFIN R1-T01`.

An id is normalised to two digits (`P1` is `P01`, `T1.1` is `T01.1`). It may say whose it is, and of which round.

Source: RFC 0028, "Tolerance Policy".
"""

from __future__ import annotations

from dataclasses import dataclass

from .marker_ids import ids_between, normal_id, read_digits, read_marker_id
from .vocabulary import ARROWS, FILLERS, ID_LETTERS, JOINERS, JOINING_WORDS, RANGES

_MAX_BARE_DIGITS = 3
_PLACEHOLDERS = "NX#?_*…"
_WHITE = " \t"
#: Between a name or a round and the id it belongs to: `MUFFIN-T01`, `R1.T01`, `Muffin's T01`.
_LINKS = "-./: "


@dataclass(frozen=True, slots=True)
class MarkerRef:
    """An id, with the agent and the round it is bound to where the marker names them."""

    id: str
    agent: str | None = None
    round: int | None = None

    def __str__(self) -> str:
        return self.spelled(ID_LETTERS)

    def spelled(self, letters: str) -> str:
        """Return the spelling where `letters` begin ids: `@P1 T01` if the agent's name looks like an id there."""
        own = self.id if self.round is None else f"R{self.round}-{self.id}"
        if self.agent is None:
            return own
        written = f"{self.agent} {own}"
        return written if read_refs(written, letters=letters).found == (self,) else f"@{written}"


@dataclass(frozen=True, slots=True)
class ParsedRefs:
    """Result of `read_refs`: the ids, their end, and whether there was a placeholder such as `Pnn` instead."""

    found: tuple[MarkerRef, ...]
    end: int
    placeholder: bool = False


def read_refs(text: str, *, letters: str = ID_LETTERS, strict: bool = False, number: str = "") -> ParsedRefs:
    """Return the ids that `text` begins with. `strict` allows no filling words before them.

    `number` is the letter of ids that are bare numbers; without one, those are no ids.
    """
    if (
        len(text) > 2
        and text[0] in "PT"
        and text[3:4] in ("", ":", "]")
        and text[1:3].isascii()
        and text[1:3].isdecimal()
    ):
        return ParsedRefs((MarkerRef(text[:3]),), 3)  # content of nearly every marker
    return _Reader(text, letters, number).read(fillers=not strict)


class _Reader:
    """Reader of ids from the left; `at` is its position."""

    def __init__(self, text: str, letters: str, number: str) -> None:
        self.text, self.letters, self.number, self.at = text, letters, number, 0
        self.refs: list[MarkerRef] = []

    def read(self, *, fillers: bool) -> ParsedRefs:
        end = 0
        while True:
            self._skip_joiners(fillers=fillers and not self.refs)
            if self._placeholder():
                return ParsedRefs((), end, placeholder=not self.refs)
            ref = self._ref() or self._bare(joined=self.at > end)
            if ref is None:
                return ParsedRefs(tuple(dict.fromkeys(self.refs)), end)
            self.refs.append(ref)
            self._range(ref)
            end = self.at

    def _peek(self, at: int) -> str:
        return self.text[at : at + 1]

    def _word(self, at: int) -> str:
        end = at
        while self._peek(end).isalpha():
            end += 1
        return self.text[at:end]

    def _skip_joiners(self, *, fillers: bool) -> None:
        while True:
            here = self._peek(self.at)
            if here and (here in _WHITE or (here in JOINERS and self.refs) or (here in "(#*`" and fillers)):
                self.at += 1
                continue
            if here and self.refs and (arrow := self._starting(ARROWS)):
                self.at += len(arrow)
                continue
            word = self._word(self.at)
            after = self._peek(self.at + len(word))
            joining = word.upper() in JOINING_WORDS and self.refs
            filling = word.upper() in FILLERS and fillers
            if not (word and after in (*_WHITE, "#", "(") and after and (joining or filling)):
                return
            self.at += len(word)

    def _starting(self, marks: tuple[str, ...]) -> str:
        return next((mark for mark in marks if self.text.startswith(mark, self.at)), "")

    def _placeholder(self) -> bool:
        """Read a placeholder instead of an id: `Pnn`, `T##`, `T0N`, `P{n}`, `<id>`."""
        here = self._peek(self.at)
        if here and here in "{<":
            return True
        if not here or here.upper() not in self.letters:
            return False
        end = self.at + 1
        while self._peek(end).isdecimal():
            end += 1
        if end > self.at + 1:
            return self._peek(end).upper() in ("N", "X") and not self._peek(end + 1).isalnum()
        if self._peek(end) and self._peek(end) in "{<":
            return True
        while self._peek(end) and self._peek(end).upper() in _PLACEHOLDERS:
            end += 1
        return end > self.at + 1 and not self._peek(end).isalnum()

    def _ref(self) -> MarkerRef | None:
        start = self.at
        ref = self._scoped(None)
        if ref is None and (agent := self._agent()) is not None:
            ref = self._scoped(agent)
        if ref is None:
            self.at = start
        return ref

    def _bare(self, *, joined: bool) -> MarkerRef | None:
        """Return a bare number that is an id: `1`, or the `2` of `T1, 2`. A number before a word is a count."""
        if not (self.number and joined >= bool(self.refs)):
            return None
        digits = read_digits(self.text, self.at)
        rest = self.text[self.at + len(digits) :].lstrip()
        written = (
            not rest or rest[0] in ":)" or rest[0] in JOINERS or rest.startswith(("and ", "- ", "– ", "— "))
        )
        if not 0 < len(digits) <= _MAX_BARE_DIGITS or not written:
            return None
        self.at += len(digits)
        return MarkerRef(normal_id(self.refs[-1].id[0] if self.refs else self.number, digits))

    def _agent(self) -> str | None:
        """Return a name that begins with a capital, and a link; whether an id follows, `_ref` sees."""
        self.at += self._peek(self.at) == "@"
        end = self.at
        while (c := self._peek(end)) and (c.isalnum() or c in "_-"):
            end += 1
        name = self.text[self.at : end]
        parts = name.split("-")
        while len(parts) > 1 and self._is_id(parts[-1]):  # `CANNOLI-T01`, `MUFFIN-R1-T01`
            parts.pop()
        linked = "-".join(parts)
        if not linked[:1].isupper() or len(linked) == 1 or linked.upper() in FILLERS | JOINING_WORDS:
            return None
        if linked == name and self.text[end : end + 2] in ("'s", "’s"):
            end += 2
        if linked == name and not (self._peek(end) and self._peek(end) in "./ "):
            return None
        self.at = end + 1 if linked == name else self.at + len(linked) + 1
        return linked

    def _is_id(self, part: str) -> bool:
        return part[:1].upper() in self.letters + "R" and part[1:].isdecimal()

    def _scoped(self, agent: str | None) -> MarkerRef | None:
        start = self.at
        number = self._round()
        name = self._id()
        if name is None and number is not None:
            self.at, number = start, None
            name = self._id()
        return None if name is None else MarkerRef(name, agent, number)

    def _round(self) -> int | None:
        """Read a round with a link after it: `R1-`, `R0.`, `R2 `."""
        if self._peek(self.at).upper() != "R":
            return None
        digits = read_digits(self.text, self.at + 1)
        end = self.at + 1 + len(digits)
        if not digits or not self._peek(end) or self._peek(end) not in _LINKS:
            return None
        self.at = end + 1
        return int(digits)

    def _id(self) -> str | None:
        marker_id = read_marker_id(self.text, self.at, self.letters)
        if marker_id is None:
            return None
        self.at = marker_id.end
        return marker_id.id

    def _range(self, first: MarkerRef) -> None:
        """Read a range and add every id in it: `T01-T05`, `T1 – T3`, `P01 to P04`, `T01..T03`, `T01-03`."""
        start = self.at
        after = self._past_the_dash(start)
        if after is None:
            return
        self.at = after
        last = self._id()
        if last is None and after == start + 1 and (digits := read_digits(self.text, after)):
            self.at, last = after + len(digits), normal_id(first.id[0], digits)
        ids = () if last is None or self._peek(self.at).isalnum() else ids_between(first.id, last)
        self.at = self.at if ids else start
        self.refs += [MarkerRef(name, first.agent, first.round) for name in ids]

    def _past_the_dash(self, at: int) -> int | None:
        """Return the position at which the last id of a range would begin; None: no range."""
        rest = self.text[at : at + 16]
        text = rest.lstrip(_WHITE)
        for dash in RANGES:
            if text.startswith(dash) and not text.startswith(ARROWS):
                return at + len(rest) - len(text[len(dash) :].lstrip(_WHITE + "."))
        return None
