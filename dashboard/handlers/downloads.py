"""Downloads: files that are sent while they are read, in the speed of their readers.

A download needs the memory of one chunk, and no thread while it waits for a slow reader. It ends when the reader
disconnects.
"""

from __future__ import annotations

import asyncio
import logging
import re
import zipfile
from collections.abc import Generator, Iterable, Iterator
from urllib.parse import quote

from tornado.iostream import StreamClosedError
from tornado.web import HTTPError

from ...models.errors import SymposiaError
from ...reviews.reports.formats import ReportFile
from .base import DashboardHandler

log = logging.getLogger(__name__)

#: Bytes from which a chunk is sent.
CHUNK_BYTES = 65_536
#: Maximum number of downloads of this process at the same time.
MAX_DOWNLOADS = 20
#: A name that needs no encoding in a header.
_PLAIN_NAME = re.compile(r"[\w. -]+", re.ASCII)
_OPEN = "symposia_open_downloads"


class DownloadHandler(DashboardHandler):
    """Handler of a file."""

    async def send_file(self, name: str, media_type: str, pieces: Iterable[bytes]) -> None:
        """Send a file. If reading fails after the beginning was sent, the connection is closed: the file is not whole.

        Args:
            name: Name of the file.
            media_type: Its media type.
            pieces: The file. Reading may block; it happens in a thread.

        Raises:
            HTTPError: Status 503: too many downloads at the same time.
        """
        counts: dict[str, int] = self.application.settings
        if counts.get(_OPEN, 0) >= MAX_DOWNLOADS:
            raise HTTPError(503, reason=f"more than {MAX_DOWNLOADS} downloads at the same time")
        counts[_OPEN] = counts.get(_OPEN, 0) + 1
        chunks = _chunks(pieces)
        try:
            chunk = await asyncio.to_thread(
                next, chunks, b""
            )  # before the headers: an error has its own status
            self.set_header("Content-Type", media_type)
            self.set_header("Content-Disposition", _disposition(name))
            await self._send_chunks(chunk, chunks)
        finally:
            counts[_OPEN] -= 1
            chunks.close()

    async def _send_chunks(self, chunk: bytes, chunks: Iterator[bytes]) -> None:
        try:
            while chunk:
                self.write(chunk)
                await self.flush()
                chunk = await asyncio.to_thread(next, chunks, b"")
        except StreamClosedError:
            return
        except SymposiaError as error:
            log.warning("a download was ended: %s", error)
            self._close()
        except Exception:
            log.exception("a download was ended")
            self._close()

    def _close(self) -> None:
        """Close the connection, so that the file does not look whole."""
        if (connection := self.request.connection) is not None and hasattr(connection, "stream"):
            connection.stream.close()


def _disposition(name: str) -> str:
    """Return the header that makes a browser save a file; a name with other characters is encoded (RFC 6266)."""
    if _PLAIN_NAME.fullmatch(name):
        return f'attachment; filename="{name}"'
    return f"attachment; filename=\"file\"; filename*=UTF-8''{quote(name, safe='')}"


def zip_pieces(files: Iterable[ReportFile]) -> Iterator[bytes]:
    """Yield files as one ZIP file, each after it was read."""
    output = Output()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[call-overload]
        for file in files:
            archive.writestr(file.name, file.text)
            yield output.take()
    yield output.take()


class Output:
    """A file that cannot seek, whose content is taken while it is written."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, content: bytes) -> int:
        """Keep content until it is taken."""
        self._written += content
        return len(content)

    def flush(self) -> None:
        """Do nothing: the content is taken from memory."""

    def take(self) -> bytes:
        """Return what was written since the last call."""
        content = bytes(self._written)
        self._written.clear()
        return content


def _chunks(pieces: Iterable[bytes]) -> Generator[bytes, None, None]:
    """Yield pieces together, in chunks of some size."""
    waiting = bytearray()
    for piece in pieces:
        waiting += piece
        if len(waiting) >= CHUNK_BYTES:
            yield bytes(waiting)
            waiting.clear()
    if waiting:
        yield bytes(waiting)
