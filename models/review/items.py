"""What is reviewed: items with a stable identity and a content hash, each read or skipped with a reason."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from ..turn import Frozen
from ..wire import NonBlank, Text
from .findings import MAX_PATH


class ItemKind(StrEnum):
    """What an item is."""

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
    #: What findings and reports call it: relative to the root, with `/`.
    path: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    #: Of the text, 64 hexadecimal digits.
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    #: Bytes of the text in UTF-8.
    size: Annotated[int, Field(ge=0)]
    #: Changed lines from 1, first and last of each range included; None: all of it counts.
    changed: tuple[tuple[int, int], ...] | None = None


class Read(Frozen):
    """An item that was read."""

    item: Item
    text: Text


class Skipped(Frozen):
    """Something that is not reviewed, and why."""

    path: Text
    reason: Text
