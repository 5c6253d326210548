"""Attachments that a program gives: files and values, checked before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from ..errors import InvalidInput
from .attachment import ATTACHMENTS, Attachment
from .limits import MOST_BYTES, MOST_PER_MESSAGE


def read_given(
    given: Iterable[Path | Attachment] | None, *, max_bytes: int = MOST_BYTES
) -> tuple[Attachment, ...]:
    """Return attachments with their data, from files and values of this process.

    Raises:
        InvalidInput: A file cannot be read, or a value breaks a rule.
    """
    if given is None:
        return ()
    if isinstance(given, str | bytes | Path | Attachment) or not isinstance(given, Iterable):
        raise InvalidInput(ATTACHMENTS, given, "must be a list")
    found: list[Attachment] = []
    contents: dict[str, bytes] = {}
    for index, entry in enumerate(islice(given, MOST_PER_MESSAGE + 1)):
        read = _read(entry, f"{ATTACHMENTS}[{index}]", max_bytes=max_bytes)
        assert read.data is not None  # noqa: S101 - `_read` returns data
        data = contents.setdefault(read.sha256, read.data)  # the same content is in memory once
        found.append(read.model_copy(update={"data": data}))
        if sum(map(len, contents.values())) > MOST_BYTES:  # refused below: read no more
            break
    check_attachments(found, max_bytes=max_bytes)
    return tuple(found)


def _read(entry: object, where: str, *, max_bytes: int) -> Attachment:
    """Return the attachment of a path or a value, with its data."""
    if isinstance(entry, Path):
        return Attachment.read(entry, max_bytes=max_bytes)
    if not isinstance(entry, Attachment):
        raise InvalidInput(where, entry, "must be a Path or an Attachment")
    if entry.data is None:
        raise InvalidInput(where, entry.name, "must have its data, as `Attachment.of` returns it")
    return entry


def check_attachments(attachments: Sequence[Attachment], *, max_bytes: int) -> None:
    """Check the attachments of one message.

    Raises:
        InvalidInput: One is too large, or there are too many.
    """
    if len(attachments) > MOST_PER_MESSAGE:
        rule = f"must be at most {MOST_PER_MESSAGE} for one message"
        raise InvalidInput(ATTACHMENTS, len(attachments), rule)
    for it in attachments:
        if it.size > max_bytes:
            rule = f"must be at most {max_bytes} bytes, and has {it.size} bytes"
            raise InvalidInput(ATTACHMENTS, it.name, rule)
    total = sum({it.sha256: it.size for it in attachments}.values())
    if total > MOST_BYTES:
        raise InvalidInput(ATTACHMENTS, total, f"must be at most {MOST_BYTES} bytes together")
