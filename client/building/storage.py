"""Builders of the archive and of the archiver. SQL is imported only if an archive is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redis import Redis

from ...config.project import is_default_data_dir
from ...config.settings import Settings
from ...models.extras import Needed
from ...tasks.runtime.archiving import Archiver, ArchivingTimes
from ...workspace.sql.store import deliver_to_conversation

if TYPE_CHECKING:
    from ...archive.archive import Archive


def archive_url(settings: Settings) -> str | None:
    """Return the configured database URL, else that of a file in the data folder; None: no archive."""
    if not settings.archive:
        return None
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return f"sqlite:///{settings.data_dir.absolute() / 'archive.sqlite3'}"


def open_archive(settings: Settings) -> Archive | None:
    """Return the archive; None: no archive is configured. Connects lazily."""
    url = archive_url(settings)
    if url is None:
        return None
    with Needed("the archive (SYMPOSIA_ARCHIVE=false: none)"):
        from ...archive.archive import Archive

    # The folder of any other file may contain files that other users need.
    owns_folder = settings.database_url is None and is_default_data_dir(settings.data_dir)
    return Archive(url, deliver_to_conversation, owns_folder=owns_folder)


def build_archiver(settings: Settings, client: Redis) -> Archiver | None:
    """Return the archiver of a worker; None: no archive is configured."""
    archive = open_archive(settings)
    if archive is None:
        return None
    times = ArchivingTimes(
        every_ms=int(settings.archive_interval_s * 1000), retention_ms=settings.retention_s * 1000
    )
    return Archiver(archive, client, times)
