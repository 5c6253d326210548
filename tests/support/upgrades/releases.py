"""The kept state and code of each release, and loading it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from redis import Redis

from symposia.state.redis.readers import server_ms
from upgrades.installation import UpgradeInstallation
from upgrades.snapshots import load_archive, load_redis

FOLDER = Path(__file__).parents[2] / "upgrades/releases"
#: All releases that are kept, which are names of folders.
RELEASES = sorted(it.name for it in FOLDER.iterdir())


def wheel_of(release: str) -> Path:
    """Return the wheel of a release."""
    (wheel,) = (FOLDER / release).glob("symposia-*.whl")
    return wheel


def load_release(installation: UpgradeInstallation, release: str, *, live: bool = True) -> dict[str, str]:
    """Load the state of a release into an installation without worker; return the ids by name.

    `live`: whether the Redis is loaded, too; False: it has been lost.
    """
    document: dict[str, Any] = json.loads((FOLDER / release / "redis.json").read_text())
    written_ms = document["written_ms"]
    with Redis.from_url(installation.redis_url, decode_responses=True) as client:
        # In whole seconds, as some times are.
        passed_ms = (server_ms(client) - written_ms) // 1000 * 1000
        if live:
            load_redis(
                client,
                document["keys"],
                folder=installation.folder,
                passed_ms=passed_ms,
                written_ms=written_ms,
            )
    sql = (FOLDER / release / "archive.sql").read_text()
    load_archive(installation.archive_file, sql, passed_ms=passed_ms, written_ms=written_ms)
    ids: dict[str, str] = document["ids"]
    return ids
