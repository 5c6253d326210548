"""Base of all sources: limits, reading of items with their texts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..values.changes import Hunk, changed_ranges, removed_ranges
from ..values.runs import Item, ItemKind, ReadItem, SkippedItem, SkippedList
from .decoding import decode_file
from .sandboxed_folder import SandboxedFolder, escape_path


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """Limits of one source. Items above a limit are skipped, and reported."""

    items: int = 50_000
    #: Maximum bytes of one item.
    item_bytes: int = 262_144
    #: Maximum bytes of all items.
    total_bytes: int = 268_435_456
    #: Maximum number of skipped items listed one by one; the others are counted by reason.
    max_skipped: int = 1_000


def apply_limits(
    entries: Iterable[ReadItem | SkippedItem], caps: SourceLimits
) -> Iterator[ReadItem | SkippedItem]:
    """Yield the found items, as far as the limits allow."""
    items = total_bytes = 0
    skipped = SkippedList(caps.max_skipped)
    for entry in entries:
        if isinstance(entry, ReadItem):
            over = _over(caps, items + 1, total_bytes + entry.item.size)
            if not over:
                items, total_bytes = items + 1, total_bytes + entry.item.size
                yield entry
                continue
            entry = SkippedItem(path=entry.item.path, reason=over)  # noqa: PLW2901 - from here on it is skipped
        if skipped.add(entry):
            yield entry
    yield from skipped.others


def _over(caps: SourceLimits, items: int, total_bytes: int) -> str:
    if items > caps.items:
        return f"over the limit of {caps.items:,} items"
    if total_bytes > caps.total_bytes:
        return f"over the limit of {caps.total_bytes:,} bytes in total"
    return ""


def read_file(
    root: SandboxedFolder,
    path: str,
    *,
    max_bytes: int,
    kind: ItemKind,
    hunks: tuple[Hunk, ...] | None = None,
    renamed_from: str = "",
    left_out: Callable[[str], str] = lambda _: "",
) -> ReadItem | SkippedItem:
    """Return a file as an item, or why it is skipped.

    `hunks`: its changed lines; None: all of it. `left_out`: function that returns why a text is not reviewed.
    """
    data = root.read(path, limit=max_bytes)
    if isinstance(data, SkippedItem):
        return data
    text, reason, suffix = decode_file(path, data)
    if reason := reason or left_out(text):
        return SkippedItem(path=path, reason=reason)
    if not text.strip() and not hunks:
        return SkippedItem(path=path, reason="empty")
    return make_item(text, path, kind, hunks=hunks, renamed_from=renamed_from, suffix=suffix)


def deleted_item(path: str, hunks: tuple[Hunk, ...], *, max_bytes: int) -> ReadItem | SkippedItem:
    """Return a deleted file as an item with its last text, or why it is skipped."""
    text = "".join(f"{line}\n" for hunk in hunks for line in hunk.removed)
    if not text.strip() or not path.isprintable():
        return SkippedItem(path=escape_path(path), reason="deleted: its content is empty or no text")
    if len(text.encode()) > max_bytes or any(len(hunk.removed) < hunk.old_count for hunk in hunks):
        return SkippedItem(path=path, reason=f"deleted; it was larger than {max_bytes:,} bytes")
    return make_item(text, path, ItemKind.DELETED, hunks=hunks)


def make_item(
    text: str,
    path: str,
    kind: ItemKind,
    *,
    hunks: tuple[Hunk, ...] | None = None,
    renamed_from: str = "",
    suffix: str = "",
) -> ReadItem:
    """Return a text as an item; its path is its key."""
    data = text.encode()
    item = Item(
        key=path,
        kind=kind,
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        changed=None if hunks is None else changed_ranges(hunks),
        removed=removed_ranges(hunks or ()),
        renamed_from=renamed_from,
        suffix=suffix,
    )
    return ReadItem(item=item, text=text, hunks=hunks)
