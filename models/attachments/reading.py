"""The reader of attachments in the turn of an agent: a port that the runner of the turn connects.

A context variable holds it, so that it reaches every kind of agent, the threads of blocking callables, and the tools of
models.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


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


@contextmanager
def reading_with(reader: AttachmentReader | None) -> Iterator[None]:
    """Use a reader for what runs in the block, and for the threads and tasks that it starts."""
    token = _reader.set(reader)
    try:
        yield
    finally:
        _reader.reset(token)
