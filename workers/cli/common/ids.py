"""Session ids as a user types them, and as tables show them."""

from __future__ import annotations

from collections.abc import Sequence

from ....client import Client
from ....config.settings import load_settings
from ....factories.sessions import SHORTEST_ID
from ....jobs.collab import CollabJob


def find_job(text: str) -> CollabJob:
    """Return the session with this id, or the one whose id starts with it. Raises as `Client.get_job`."""
    return Client(load_settings()).get_job(text)


def shortest_ids(ids: Sequence[str]) -> dict[str, str]:
    """Return for each id its shortest prefix that commands accept and that is unique among these ids."""
    length = SHORTEST_ID
    while len({it[:length] for it in ids}) < len(set(ids)):
        length += 1
    return {it: it[:length] for it in ids}
