"""The parts of an archive that hold reviews. SQL is imported when one is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...archive.archive import Archive
    from .store import ReviewReader, ReviewWriter


def review_reader(archive: Archive) -> ReviewReader:
    """Return the reader of reviews."""
    from .store import ReviewReader

    return ReviewReader(archive.database)


def review_writer(archive: Archive) -> ReviewWriter:
    """Return the writer of reviews."""
    from .store import ReviewWriter

    return ReviewWriter(archive.database)
