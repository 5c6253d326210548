"""Two sessions side by side: what is the same is counted, messages that differ are shown word by word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

from ....jobs.collab import CollabJob
from ....jobs.continuing import earlier_messages
from ....models.protocol.dialog import Message
from ....state.sessions.records import SessionState

if TYPE_CHECKING:
    from ....archive.sessions.reader import ArchiveReader

#: Maximum number of messages at the beginning that are the same, of those after them that are compared, and of parts
#: that are shown. To match two dialogs takes up to the square of their messages.
MAX_SAME, MAX_MESSAGES, MAX_SHOWN = 20_000, 200, 100
#: Maximum characters of a message that are compared word by word.
_MAX_TEXT = 4_000
_WORDS = re.compile(r"\s+|[^\s]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text."""

    #: `""`: in both texts, `del`: only in that of the other session, `ins`: only in that of this one.
    tag: str
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Messages that are the same, or a message in which the sessions differ."""

    #: Number of messages that are the same; 0: they differ.
    same: int = 0
    #: The message of the other session and of this one; None: it has none here.
    other: Message | None = None
    this: Message | None = None
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sessions."""

    other_id: str
    #: State of the other session and of this one.
    states: tuple[SessionState, SessionState]
    differences: list[Difference]
    #: Number of messages after which the rest is not compared; None: all are compared.
    only_first: int | None = None


def compare_sessions(job: CollabJob, other: CollabJob, reader: ArchiveReader | None) -> Comparison:
    """Compare the beginnings of two sessions, with the messages of their histories. It blocks.

    Args:
        job: The session, live or archived.
        other: The other session.
        reader: Reader of the archive; None: there is none.
    """
    before, now = (chain(earlier_messages(each, reader), each.messages()) for each in (other, job))
    return Comparison(other.id, (other.state(), job.state()), *compare_messages(before, now))


def compare_messages(
    other: Iterable[Message], this: Iterable[Message]
) -> tuple[list[Difference], int | None]:
    """Return what is the same and what differs, in the order of the dialogs; at most `MAX_SHOWN` parts.

    Args:
        other: Messages of the other session with those of its history, oldest first.
        this: Messages of this session.

    Returns:
        The parts, and the number of messages after which the rest is not compared; None: all are compared.
    """
    before, now = iter(other), iter(this)
    same = 0
    rest1, rest2 = [], []
    for one, two in islice(zip_longest(before, now), MAX_SAME):
        if one is None or two is None or _key(one) != _key(two):
            rest1, rest2 = [one] * (one is not None), [two] * (two is not None)
            break
        same += 1
    rest1 += islice(before, MAX_MESSAGES + 1 - len(rest1))
    rest2 += islice(now, MAX_MESSAGES + 1 - len(rest2))
    only_first = same + MAX_MESSAGES if max(len(rest1), len(rest2)) > MAX_MESSAGES else None
    differences = [Difference(same=same)] if same else []
    for part, at in _differences(rest1[:MAX_MESSAGES], rest2[:MAX_MESSAGES]):
        if len(differences) == MAX_SHOWN:
            return differences, same + at
        differences.append(part)
    return differences, only_first


def _differences(other: Sequence[Message], this: Sequence[Message]) -> Iterator[tuple[Difference, int]]:
    """Yield the parts, each with the number of messages before it."""
    before, now = [_key(message) for message in other], [_key(message) for message in this]
    for tag, from1, to1, from2, to2 in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if tag == "equal":
            yield Difference(same=to1 - from1), max(from1, from2)
            continue
        for number, (one, two) in enumerate(zip_longest(other[from1:to1], this[from2:to2])):
            texts = ["" if message is None else message.content[:_MAX_TEXT] for message in (one, two)]
            yield Difference(0, one, two, tuple(_pieces(*texts))), max(from1, from2) + number


def _key(message: Message) -> tuple[str | None, str, str]:
    return message.author, message.role, message.content


def _pieces(other: str, this: str) -> Iterator[Piece]:
    one, two = _WORDS.findall(other), _WORDS.findall(this)
    for tag, from1, to1, from2, to2 in SequenceMatcher(None, one, two).get_opcodes():
        if tag == "equal":
            yield Piece("", "".join(one[from1:to1]))
            continue
        for kind, words in (("del", one[from1:to1]), ("ins", two[from2:to2])):
            if words:
                yield Piece(kind, "".join(words))
