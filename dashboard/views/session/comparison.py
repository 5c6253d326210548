"""Two sessions side by side: what is the same is counted, messages that differ are shown word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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

#: Maximum number of messages of each session that are compared, and of parts that are shown.
MAX_MESSAGES, MAX_SHOWN = 1_000, 100
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


def compare_sessions(job: CollabJob, other: CollabJob, reader: ArchiveReader | None) -> Comparison:
    """Compare the beginnings of two sessions, with the messages of their histories. It blocks.

    Args:
        job: The session, live or archived.
        other: The other session.
        reader: Reader of the archive; None: there is none.
    """
    jobs = other, job
    before, now = (
        list(islice(chain(earlier_messages(each, reader), each.messages()), MAX_MESSAGES)) for each in jobs
    )
    return Comparison(other.id, (other.state(), job.state()), compare_messages(before, now))


def compare_messages(other: Sequence[Message], this: Sequence[Message]) -> list[Difference]:
    """Return what is the same and what differs, in the order of the dialogs; at most `MAX_SHOWN` parts.

    Args:
        other: Messages of the other session with those of its history, oldest first.
        this: Messages of this session.
    """
    before, now = ([(each.author, each.role, each.content) for each in own] for own in (other, this))
    differences: list[Difference] = []
    for tag, from1, to1, from2, to2 in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if tag == "equal":
            differences.append(Difference(same=to1 - from1))
            continue
        for one, two in zip_longest(other[from1:to1], this[from2:to2]):
            if len(differences) == MAX_SHOWN:
                return differences
            texts = ["" if message is None else message.content[:_MAX_TEXT] for message in (one, two)]
            differences.append(Difference(0, one, two, tuple(_pieces(*texts))))
    return differences


def _pieces(other: str, this: str) -> Iterator[Piece]:
    one, two = _WORDS.findall(other), _WORDS.findall(this)
    for tag, from1, to1, from2, to2 in SequenceMatcher(None, one, two).get_opcodes():
        if tag == "equal":
            yield Piece("", "".join(one[from1:to1]))
            continue
        for kind, words in (("del", one[from1:to1]), ("ins", two[from2:to2])):
            if words:
                yield Piece(kind, "".join(words))
