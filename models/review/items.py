"""Items of a review, with a stable identity and a content hash; each is read, or skipped with a reason."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from ..protocol.base import NonBlank, Text
from ..turns.turn import Frozen
from .findings import MAX_PATH


class ItemKind(StrEnum):
    """Kind of an item."""

    FILE = "file"
    #: A file with the lines that changed.
    CHANGE = "change"
    DOCUMENT = "document"
    #: An archived session, as its transcript.
    SESSION = "session"


class Item(Frozen):
    """One thing to review. Its text is carried beside it."""

    #: The same in every run: the path relative to the root, or `session:<id>`.
    key: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    kind: ItemKind
    #: Name in findings and reports: relative to the root, with `/`.
    path: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    #: Of the text, 64 hexadecimal digits.
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    #: Bytes of the text in UTF-8.
    size: Annotated[int, Field(ge=0)]
    #: Changed lines from 1, first and last of each range included; None: all of it counts.
    changed: tuple[tuple[int, int], ...] | None = None


class ReadItem(Frozen):
    """An item that was read."""

    item: Item
    text: Text


class SkippedItem(Frozen):
    """Something that is not reviewed, and why."""

    path: Text
    reason: Text
