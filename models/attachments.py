"""Attachments: files of messages, the limits for them, and the reader that loads their bytes in the turn of an agent.

Messages hold only the reference: name, media type, size and digest. The bytes are stored once in a session, by their
digest. A name is data and never a path: nothing opens a file by it.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from hashlib import sha256
from itertools import islice
from mimetypes import MimeTypes
from pathlib import Path
from typing import Annotated, Any, Protocol, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from .context_values import SetInBlock
from .errors import AttachmentUnavailable, InvalidInput, invalid_input

#: Default of the maximum bytes of one attachment.
DEFAULT_BYTES = 8_388_608
#: Maximum bytes of one attachment, also if the settings allow more, and of all attachments of a session.
MAX_BYTES = 67_108_864
#: Maximum number of attachments of one message.
MAX_PER_MESSAGE = 20
#: Maximum number of different attachments of one session.
MAX_PER_SESSION = 200
#: Rule for a session that has no room for another attachment.
FULL = f"must be at most {MAX_PER_SESSION} attachments and {MAX_BYTES} bytes in one session"


class AttachmentReader(Protocol):
    """Reader of the attachments of one session."""

    def read(self, name: str, sha256: str) -> bytes:
        """Return the bytes with a digest; `name` is that of the attachment, for errors.

        Raises:
            AttachmentUnavailable: The session has no such attachment.
            RedisUnavailable: Redis does not answer.
        """
        ...


_reader: ContextVar[AttachmentReader | None] = ContextVar("symposia_attachments", default=None)


def reader_of_turn() -> AttachmentReader | None:
    """Return the reader of the turn in which this code runs; None: it runs in no turn."""
    return _reader.get()


def reading_with(reader: AttachmentReader | None) -> SetInBlock[AttachmentReader | None]:
    """Use a reader for what runs in the block, and for the threads and tasks that it starts."""
    return SetInBlock(_reader, reader)


#: Field with the attachments of a message, in the data of its event.
ATTACHMENTS = "attachments"
#: Maximum bytes (UTF-8) of a name, as in most file systems.
MAX_NAME_BYTES = 255
#: Media type of a file whose name says nothing.
UNKNOWN_TYPE = "application/octet-stream"

_NAME = r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}"
_MEDIA_TYPE = re.compile(rf"{_NAME}/{_NAME}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}")
#: The types of the standard library, without the files of this machine: a name has the same type everywhere.
_TYPES = MimeTypes()
for _suffix, _type in {
    ".md": "text/markdown",
    ".toml": "application/toml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".jsonl": "application/jsonl",
    ".webp": "image/webp",
}.items():
    _TYPES.add_type(_type, _suffix)


def check_name(name: str) -> str:
    """Return a name that is a single path component of printable characters.

    Raises:
        ValueError: It is not.
    """
    if not name.isprintable() or name != name.strip() or name in ("", ".", ".."):
        raise ValueError("must be a file name of printable characters")
    if "/" in name or "\\" in name:
        raise ValueError("must be a file name without a folder")
    if len(name.encode()) > MAX_NAME_BYTES:
        raise ValueError(f"must be at most {MAX_NAME_BYTES} bytes")
    return name


def check_media_type(media_type: str) -> str:
    """Return a media type without parameters.

    Raises:
        ValueError: It has another form.
    """
    if not _MEDIA_TYPE.fullmatch(media_type):
        raise ValueError("must be a media type without parameters in lower case, such as image/png")
    return media_type


def _check_digest(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise ValueError("must be a SHA-256 digest of 64 lower-case hexadecimal digits")
    return digest


def guess_media_type(name: str) -> str:
    """Return the media type that the end of a name means, the same on every machine."""
    media_type, encoding = _TYPES.guess_type(f"./{name}")
    if encoding is not None:
        return f"application/{encoding}" if encoding == "gzip" else UNKNOWN_TYPE
    return media_type if media_type is not None and _MEDIA_TYPE.fullmatch(media_type) else UNKNOWN_TYPE


class Attachment(BaseModel):
    """A file of a message. `of` and `read` return one with its data; the messages of a session have the reference only."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: Annotated[str, AfterValidator(check_name)]
    media_type: Annotated[str, AfterValidator(check_media_type)] = UNKNOWN_TYPE
    #: Bytes.
    size: int = Field(ge=1, le=MAX_BYTES)
    sha256: Annotated[str, AfterValidator(_check_digest)]
    #: The bytes, on their way into a session; never written with a message.
    data: bytes | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="after")
    def _check_data(self) -> Self:
        if self.data is not None and (
            len(self.data) != self.size or sha256(self.data).hexdigest() != self.sha256
        ):
            raise ValueError("must have the size and the digest of its data")
        return self

    @classmethod
    def of(cls, name: str, data: bytes | str, *, media_type: str | None = None) -> Self:
        """Return an attachment with its data.

        Args:
            name: File name, without a folder.
            data: The bytes, or text, which is stored in UTF-8.
            media_type: Such as `image/png`. None: as the end of the name says.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        try:
            content = data.encode() if isinstance(data, str) else data
        except UnicodeEncodeError:  # without the text, which may be long
            raise InvalidInput("data", "text with a lone surrogate", "must be valid UTF-8 text") from None
        if not isinstance(content, bytes):
            raise InvalidInput("data", type(data).__name__, "must be bytes or text")
        if not isinstance(name, str):
            raise InvalidInput("name", name, "must be text")
        _check_size(name, len(content), MAX_BYTES)
        kind = guess_media_type(name) if media_type is None else media_type
        digest = sha256(content).hexdigest()
        try:
            return cls(name=name, media_type=kind, size=len(content), sha256=digest, data=content)
        except ValidationError as error:
            raise invalid_input(error) from None

    @classmethod
    def read(cls, path: Path, *, media_type: str | None = None, max_bytes: int = MAX_BYTES) -> Self:
        """Return a file of this machine as an attachment with its data.

        Args:
            path: The file. A text is no path: data from outside cannot open a file.
            media_type: As in `of`.
            max_bytes: Maximum size; a larger file is refused before it is read as a whole.

        Raises:
            InvalidInput: The file cannot be read, is empty or too large, or its name breaks a rule.
        """
        if not isinstance(path, Path):
            raise InvalidInput(ATTACHMENTS, path, "must be a Path or an Attachment")
        try:
            state = path.stat()
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None
        if not stat.S_ISREG(state.st_mode):  # a pipe would wait for a writer
            raise InvalidInput(ATTACHMENTS, str(path), "must be a file")
        _check_size(str(path), state.st_size, max_bytes)
        try:
            with path.open("rb") as file:
                data = file.read(max_bytes + 1)  # it may have grown
        except OSError as error:
            raise _unreadable(path, error) from None
        _check_size(str(path), len(data), max_bytes)
        return cls.of(path.name, data, media_type=media_type)

    def reference(self) -> Attachment:
        """Return the attachment without its data, as messages have it."""
        return self if self.data is None else self.model_copy(update={"data": None})

    @property
    def line(self) -> str:
        """The line that names it in a text, such as the prompt of a model."""
        return f"[Attached file: {self.name} ({self.media_type}, {self.size} bytes)]"

    def load(self) -> bytes:
        """Return the bytes. Without data, only in the turn of an agent, whose session has them.

        Raises:
            AttachmentUnavailable: There is no turn, or neither Redis nor the archive has bytes of this size.
        """
        if self.data is not None:
            return self.data
        reader = reader_of_turn()
        if reader is None:
            raise AttachmentUnavailable(self.name, why="it has no data, and no turn is running")
        data = reader.read(self.name, self.sha256)
        if len(data) != self.size:  # a made-up reference; limits for prompts rely on the size
            raise AttachmentUnavailable(self.name, why=f"its bytes have another size than {self.size}")
        return data

    async def load_async(self) -> bytes:
        """Return the bytes as `load` does, for agents on the event loop."""
        import asyncio

        return self.data if self.data is not None else await asyncio.to_thread(self.load)


def _unreadable(path: Path, error: OSError | ValueError) -> InvalidInput:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return InvalidInput(ATTACHMENTS, str(path), f"cannot be read: {reason}")


def _check_size(name: str, size: int, max_bytes: int) -> None:
    if not 1 <= size <= max_bytes:
        raise InvalidInput(ATTACHMENTS, name, f"must be 1 to {max_bytes} bytes, and has {size} bytes")


def read_references(data: object) -> tuple[Attachment, ...]:
    """Return the attachments in the data of a message's event; entries that are none are left out."""
    return tuple(_references(data)) if isinstance(data, list) else ()


def _references(entries: Iterable[Any]) -> Iterable[Attachment]:
    for entry in entries:
        try:
            yield Attachment.model_validate(entry).reference()
        except (ValidationError, UnicodeEncodeError):
            continue


def read_given(
    given: Iterable[Path | Attachment] | None, *, max_bytes: int = MAX_BYTES
) -> tuple[Attachment, ...]:
    """Return attachments with their data, from files and values of this process.

    Raises:
        InvalidInput: A file cannot be read, or a value breaks a rule.
    """
    if given is None:
        return ()
    if isinstance(given, str | bytes | Path | Attachment) or not isinstance(given, Iterable):
        raise InvalidInput(ATTACHMENTS, given, "must be a list")
    attachments: list[Attachment] = []
    contents: dict[str, bytes] = {}
    for index, entry in enumerate(islice(given, MAX_PER_MESSAGE + 1)):
        read = _read(entry, f"{ATTACHMENTS}[{index}]", max_bytes=max_bytes)
        assert read.data is not None  # noqa: S101 - `_read` returns data
        data = contents.setdefault(read.sha256, read.data)  # the same content is in memory once
        attachments.append(read.model_copy(update={"data": data}))
        if sum(map(len, contents.values())) > MAX_BYTES:  # refused below: read no more
            break
    check_attachments(attachments, max_bytes=max_bytes)
    return tuple(attachments)


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
    if len(attachments) > MAX_PER_MESSAGE:
        rule = f"must be at most {MAX_PER_MESSAGE} for one message"
        raise InvalidInput(ATTACHMENTS, len(attachments), rule)
    for attachment in attachments:
        if attachment.size > max_bytes:
            rule = f"must be at most {max_bytes} bytes, and has {attachment.size} bytes"
            raise InvalidInput(ATTACHMENTS, attachment.name, rule)
    total = sum({attachment.sha256: attachment.size for attachment in attachments}.values())
    if total > MAX_BYTES:
        raise InvalidInput(ATTACHMENTS, total, f"must be at most {MAX_BYTES} bytes together")
