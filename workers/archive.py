"""Builds the archive of an installation from its settings. SQL is imported only where one is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..config.settings import Settings, default_data_dir
from ..tasks.archiving import Archiver, ArchivingTimes

if TYPE_CHECKING:
    from redis import Redis

    from ..archive.archive import Archive


def archive_url(settings: Settings) -> str | None:
    """Where the archive is: the configured database, else a file in the data folder; None: none is kept."""
    if not settings.archive:
        return None
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return f"sqlite:///{settings.data_dir.absolute() / 'archive.sqlite3'}"


def open_archive(settings: Settings) -> Archive | None:
    """The archive; None: none is kept. Connects lazily."""
    url = archive_url(settings)
    if url is None:
        return None
    from ..archive.archive import Archive

    # The folder of any other file may hold what other users need.
    owns_folder = settings.database_url is None and settings.data_dir == default_data_dir()
    return Archive(url, owns_folder=owns_folder)


def archiver(settings: Settings, client: Redis) -> Archiver | None:
    """The archiver of a worker; None: no archive is kept."""
    archive = open_archive(settings)
    if archive is None:
        return None
    times = ArchivingTimes(
        every_ms=int(settings.archive_interval_s * 1000), retention_ms=settings.retention_s * 1000
    )
    return Archiver(archive, client, times)
