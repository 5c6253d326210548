"""Attachments of a session: which there are, and writing them to a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from secrets import token_hex

from ..models.attachments import Attachment
from ..models.errors import AttachmentUnavailable, InvalidInput
from ..models.protocol.dialog import Message
from ..models.text.words import count_of

#: Start of a digest, as `symposia attachments` shows it.
_DIGEST_START = re.compile(r"[0-9a-f]{8,64}")


def attachments_of(messages: Iterable[Message]) -> tuple[Attachment, ...]:
    """Return the files of messages in their order, each name and content once."""
    return tuple(dict.fromkeys(attachment for message in messages for attachment in message.attachments))


def find_attachment(attachments: Sequence[Attachment], wanted: str) -> Attachment | None:
    """Return the newest attachment with a name, or else with a digest that starts with a text; None: there is none.

    A whole digest comes before a name: no name can stand for the content of another file.
    """
    newest_first = attachments[::-1]
    by_digest = next((attachment for attachment in newest_first if attachment.sha256 == wanted), None)
    if by_digest is not None:
        return by_digest
    by_name = next((attachment for attachment in newest_first if attachment.name == wanted), None)
    if by_name is not None or not _DIGEST_START.fullmatch(wanted):
        return by_name
    return next((attachment for attachment in newest_first if attachment.sha256.startswith(wanted)), None)


def choose_attachments(attachments: Sequence[Attachment], wanted: Sequence[str]) -> list[Attachment]:
    """Return the attachments with these names or digests; without any, all of them.

    Raises:
        InvalidInput: There is no such attachment.
    """
    if not wanted:
        return list(attachments)
    chosen: dict[Attachment, None] = {}
    for text in wanted:
        attachment = find_attachment(attachments, text)
        if attachment is None:
            rule = "must be the name of an attachment of the session, or 8 or more digits of its digest"
            raise InvalidInput("attachment", text, rule)
        chosen[attachment] = None
    return list(chosen)


def file_names(attachments: Sequence[Attachment]) -> list[str]:
    """Return a different file name for each attachment; the second of a name has a part of its digest in it."""
    taken: set[str] = set()
    names = []
    for attachment in attachments:
        name = next(name for name in _candidates(attachment) if name.casefold() not in taken)
        taken.add(name.casefold())
        names.append(name)
    return names


def _candidates(attachment: Attachment) -> Iterator[str]:
    """Yield the name of an attachment, then others, without end."""
    yield attachment.name
    path = Path(attachment.name)
    for number in count(1):
        more = attachment.sha256[:12] if number == 1 else f"{attachment.sha256[:12]}-{number}"
        yield f"{_cut(path.stem, 200)}-{more}{_cut(path.suffix, 30)}"


def _cut(text: str, most_bytes: int) -> str:
    return text.encode()[:most_bytes].decode(errors="ignore")


def save_attachments(
    attachments: Sequence[Attachment],
    folder: Path,
    *,
    read: Callable[[Attachment], bytes],
    force: bool = False,
) -> list[Path]:
    """Write attachments into a folder, which is made, and return their paths.

    Nothing is written if a file exists. A name has no folder in it, and no link is followed.

    Raises:
        InvalidInput: A file exists and `force` is False, or a file cannot be written.
        AttachmentUnavailable: The bytes of some are missing; all others are written.
    """
    paths = [folder / name for name in file_names(attachments)]
    if not force:
        for path in paths:
            if os.path.lexists(path):
                raise InvalidInput("folder", str(path), "exists already; --force replaces it")
    missing: list[str] = []
    for attachment, path in zip(attachments, paths, strict=True):
        try:
            data = _read_whole(attachment, read)
        except AttachmentUnavailable:
            if len(attachments) == 1:
                raise
            missing.append(attachment.name)
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _write(path, data, force=force)
        except OSError as error:
            rule = f"cannot be written: {error.strerror or error}"
            raise InvalidInput("folder", str(path), rule) from None
    if missing:
        why = f"{len(missing)} of {count_of(len(attachments), 'file has', 'files have')} no bytes of their size; the others are saved"
        raise AttachmentUnavailable(", ".join(missing), why=why)
    return paths


def _read_whole(attachment: Attachment, read: Callable[[Attachment], bytes]) -> bytes:
    data = read(attachment)
    if len(data) != attachment.size:
        raise AttachmentUnavailable(attachment.name, why="its bytes have another size")
    return data


def _write(path: Path, data: bytes, *, force: bool) -> None:
    """Write a file; after an error, a new file is removed, and an existing one is as it was."""
    target = path.with_name(f".{token_hex(8)}.part") if force else path
    # Exclusive, so that neither a file of another program nor a link that appears meanwhile is written to.
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        if force:
            target.replace(path)
    except OSError:
        target.unlink(missing_ok=True)
        raise
