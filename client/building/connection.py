"""Redis and archive of this process: their URLs, and the embedded server on this machine.

The embedded server is found by a private record in the data folder. SQL is imported only if an archive is opened.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, RedisError
from redis.retry import Retry

from ...config.project import describe_owner, is_default_data_dir
from ...config.settings import Settings
from ...models.errors import NoRedis
from ...models.extras import Needed
from ...models.text.redis_address import ServerSource, record_source, with_key_prefix
from ...state.redis.connect import RETRIES, SOCKET_TIMEOUT_S, connect, connect_later

if TYPE_CHECKING:
    from ...archive.archive import Archive

#: Timeout of a PING on loopback in seconds; the listening program may not be a Redis.
_PING_TIMEOUT_S = 2.0


class Health(StrEnum):
    """Results of a PING."""

    READY = "ready"
    LOADING = "loading"
    SILENT = "silent"


def server_folder(data_dir: Path) -> Path:
    """Return the folder of the embedded server's files in a data folder."""
    return data_dir / "valkey"


def find_embedded_server(data_dir: Path) -> str | None:
    """Return the URL, with its password, of the embedded server that runs on `data_dir`, if one answers.

    A record may outlive its server, and another process may have its process id by now, so the answer to
    PING decides: only the server that knows the password gives one.
    """
    record = ServerRecord.read(data_dir)
    return record.url if record is not None and check_health(record.url) is Health.READY else None


def check_health(url: str) -> Health:
    """Send one PING to the server at `url`."""
    client = Redis.from_url(
        url,
        socket_timeout=_PING_TIMEOUT_S,
        socket_connect_timeout=_PING_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        with client:
            client.ping()
    except BusyLoadingError:
        return Health.LOADING
    except (RedisError, OSError):
        return Health.SILENT
    return Health.READY


@dataclass(frozen=True, kw_only=True)
class ServerRecord:
    """Content of `server.json`: the running server, or the last one."""

    url: str
    pid: int
    #: ISO 8601, UTC.
    started_at: str
    #: Whether the last process that uses the server stops it.
    shared: bool = False

    @property
    def port(self) -> int | None:
        """The port in `url`."""
        return urlsplit(self.url).port

    @classmethod
    def read(cls, data_dir: Path) -> Self | None:
        """Return the record in `data_dir`; None if it is missing or not readable."""
        try:
            return cls(**json.loads(_path(data_dir).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write_file(self, data_dir: Path) -> None:
        """Write the record atomically, readable by this user only."""
        path = _path(data_dir)
        draft = path.with_suffix(".new")
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(path)

    def remove_file(self, data_dir: Path) -> None:
        """Remove the record, unless a later server has written its own."""
        if self.read(data_dir) == self:
            _path(data_dir).unlink(missing_ok=True)


def _path(data_dir: Path) -> Path:
    return server_folder(data_dir) / "server.json"


def resolve_redis_url(settings: Settings) -> str | None:
    """Return the configured Redis URL, else that of the running embedded server, else None; with the key prefix."""
    if settings.redis_url is not None:
        return with_key_prefix(settings.redis_url.get_secret_value(), settings.key_prefix)
    if (url := find_embedded_server(settings.data_dir)) is None:
        return None
    record_embedded(url, settings.data_dir)
    return with_key_prefix(url, settings.key_prefix)


def record_embedded(url: str, data_dir: Path) -> None:
    """Record the URL of the embedded server of a data folder, for messages."""
    owner = describe_owner(data_dir)
    cure = f"start it with `symposia up` in {owner}"
    record_source(url, ServerSource(f"the embedded server of {owner}", "redis_url", cure))


def redis_url_in_use(settings: Settings) -> str:
    """Return the configured URL, else that of the running embedded server; with the setting `key_prefix` as an option.

    There is no default: a Redis that happens to run on this machine may belong to another program.

    Raises:
        NoRedis: None is configured, and the embedded server does not run.
    """
    if (url := resolve_redis_url(settings)) is None:
        raise NoRedis(describe_owner(settings.data_dir))
    return url


def connect_in_use(
    settings: Settings, *, retries: int = RETRIES, timeout_s: float = SOCKET_TIMEOUT_S
) -> Redis:
    """Return a client of the Redis in use; if there is none yet, commands look for it, and raise NoRedis."""
    connect_to = partial(connect, retries=retries, timeout_s=timeout_s)
    if (url := resolve_redis_url(settings)) is not None:
        return connect_to(url)
    return connect_later(lambda: connect_to(redis_url_in_use(settings)))


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
        from ...workspace.sql.store import deliver_to_conversation

    # The folder of any other file may contain files that other users need.
    owns_folder = settings.database_url is None and is_default_data_dir(settings.data_dir)
    return Archive(url, deliver_to_conversation, owns_folder=owns_folder)
