"""Base of all sources: an iterable of items with their texts, and of skipped items, within limits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from ...models.review.items import Item, ItemKind, Read, Skipped
from .sandboxed_folder import Root

#: Number of bytes at the beginning of a file; a zero byte in them means that it is not text.
_LOOKED_AT = 8_192

#: Changed lines of a path, from 1, first and last of each range included; None: the whole file.
Ranges = tuple[tuple[int, int], ...] | None


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits of one source. Items above a limit are skipped, and reported."""

    items: int = 5_000
    #: Maximum bytes of one item.
    item_bytes: int = 262_144
    #: Maximum bytes of all items.
    total_bytes: int = 67_108_864
    #: Maximum number of skipped items listed one by one; the rest is counted.
    told: int = 1_000


class Source(Protocol):
    """Reader of the items; each iteration starts from the beginning, and no file stays open in between."""

    def __iter__(self) -> Iterator[Read | Skipped]:
        """Yield items in a stable order. Raises InvalidInput for a root or a revision that cannot be used."""
        ...


def read_all(
    root: Root,
    paths: Iterable[str | Skipped],
    *,
    caps: Caps,
    kind: ItemKind,
    changed: Callable[[str], Ranges] = lambda _: None,
) -> Iterator[Read | Skipped]:
    """Yield the files at these paths as items. Skipped items are passed on."""
    return within(
        (path if isinstance(path, Skipped) else _read(root, path, caps, kind, changed) for path in paths),
        caps,
    )


def within(found: Iterable[Read | Skipped], caps: Caps) -> Iterator[Read | Skipped]:
    """Yield the found items, as far as the limits allow."""
    items = total_bytes = skipped = 0
    for it in found:
        if isinstance(it, Read):
            over = _over(caps, items + 1, total_bytes + it.item.size)
            if not over:
                items, total_bytes = items + 1, total_bytes + it.item.size
                yield it
                continue
            it = Skipped(path=it.item.path, reason=over)  # noqa: PLW2901 - from here on it is skipped
        skipped += 1
        if skipped <= caps.told:
            yield it
    if skipped > caps.told:
        yield Skipped(path=".", reason=f"{skipped - caps.told:,} more skipped")


def _over(caps: Caps, items: int, total_bytes: int) -> str:
    if items > caps.items:
        return f"over the limit of {caps.items:,} items"
    if total_bytes > caps.total_bytes:
        return f"over the limit of {caps.total_bytes:,} bytes in total"
    return ""


def _read(
    root: Root, path: str, caps: Caps, kind: ItemKind, changed: Callable[[str], Ranges]
) -> Read | Skipped:
    data = root.read(path, limit=caps.item_bytes)
    if isinstance(data, Skipped):
        return data
    if b"\0" in data[:_LOOKED_AT]:
        return Skipped(path=path, reason="binary")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Skipped(path=path, reason=f"not UTF-8 from byte {error.start:,}")
    if not text.strip():
        return Skipped(path=path, reason="empty")
    return read_of(text, key=path, path=path, kind=kind, changed=changed(path))


def read_of(text: str, *, key: str, path: str, kind: ItemKind, changed: Ranges = None) -> Read:
    """Return a text as an item."""
    data = text.encode()
    item = Item(
        key=key,
        kind=kind,
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        changed=changed,
    )
    return Read(item=item, text=text)
