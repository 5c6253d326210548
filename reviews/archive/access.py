"""The parts of an archive that hold reviews. SQL is imported when one is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...archive.archive import Archive
    from ..values.runs import Item, ItemResult
    from .store import ReviewReader
    from .writer import ReviewWriter


def review_reader(archive: Archive) -> ReviewReader:
    """Return the reader of reviews."""
    from .store import ReviewReader

    return ReviewReader(archive.database)


def review_writer(archive: Archive) -> ReviewWriter:
    """Return the writer of reviews."""
    from .writer import ReviewWriter

    return ReviewWriter(archive.database)


def known_results(
    archive: Archive | None, sha: str, items: Iterable[Item], *, files: Mapping[str, str]
) -> dict[str, ItemResult]:
    """Return the archived results of items for which the panel would be shown the same, by item key.

    `files`: those that models may read now. A result counts only if the files that they read are the same.
    """
    from ..state.readable_files import file_digest

    if archive is None:
        return {}
    archive.prepare()
    return {
        key: result
        for key, result in review_reader(archive).cached_results(sha, items).items()
        if all(file_digest(files.get(path)) == digest for path, digest in result.reads)
    }
