"""From what a user types to a session."""

from __future__ import annotations

from collections.abc import Sequence

from ...client import Client
from ...config.settings import load_settings
from ...job import CollabJob
from ...models.errors import InvalidInput, SessionNotFound
from ...models.ids import is_uuid4

#: Characters an id may be shortened to.
SHORTEST = 8


def find_job(text: str) -> CollabJob:
    """The session with this id, or the one listed session whose id begins so.

    Raises:
        InvalidInput: it is too short, or several sessions begin so.
        SessionNotFound: none does.
    """
    client = Client(load_settings())
    return client.get_job(find_id(client, text))


def find_id(client: Client, text: str) -> str:
    """The whole id. Raises as `find_job` does; a whole id may be that of no session."""
    wanted = text.strip().lower()
    return wanted if is_uuid4(wanted) else _completed(client, wanted)


def shortest_ids(ids: Sequence[str]) -> dict[str, str]:
    """Each id with its shortest form that commands take and that no other of these ids begins with."""
    length = SHORTEST
    while len({it[:length] for it in ids}) < len(set(ids)):
        length += 1
    return {it: it[:length] for it in ids}


def _completed(client: Client, prefix: str) -> str:
    if len(prefix) < SHORTEST:
        raise InvalidInput(
            "id", prefix, f"must be a session's id, or its first {SHORTEST} characters or more"
        )
    ids = client.ids(prefix)
    if len(ids) > 1:
        raise InvalidInput(
            "id", prefix, f"must be longer: {len(ids)} sessions begin so, such as {', '.join(ids[:3])}"
        )
    if not ids:
        raise SessionNotFound(prefix)
    return ids[0]
