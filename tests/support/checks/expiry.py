"""Keys that never expire, although their session has ended."""

from __future__ import annotations

from redis import Redis

from symposia.models.protocol.collab import CollabStatus
from symposia.models.text.redis_address import with_key_prefix
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import PERMANENT, PREFIX, SCHEDULES, session_key

_ENDED = {CollabStatus.COMPLETED, CollabStatus.CANCELLED}


def wrong_keys(url: str) -> list[str]:
    """Return keys without a time to live that are neither permanent nor of an active session."""
    with connect(url) as client:
        prefixes = {key.partition(f"{PREFIX}:")[0] for key in client.scan_iter(f"*{PREFIX}:*")}
    return [f"{prefix}{key}" for prefix in prefixes for key in _wrong_keys(with_key_prefix(url, prefix))]


def _wrong_keys(url: str) -> list[str]:
    with connect(url) as client:
        lasting = [key for key in client.scan_iter(f"{PREFIX}:*") if client.ttl(key) == -1]
        return [key for key in lasting if key not in PERMANENT and not _goes_on(client, key)]


def _goes_on(client: Redis, key: str) -> bool:
    if key.startswith(SCHEDULES):  # until they are removed
        return True
    _, _, rest = key.partition("{")
    session_id, found, _ = rest.partition("}")
    status = client.hget(session_key(session_id, "session"), "status") if found else None
    return status is not None and status not in _ENDED
