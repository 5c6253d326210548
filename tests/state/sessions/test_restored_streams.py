"""Streams of a lost session are written again: each entry once, in their order."""

from __future__ import annotations

import pytest
from redis import Redis

from symposia.models.text.ids import new_id
from symposia.state.redis.keys import session_key
from symposia.state.sessions.archiving import Restorer

ENTRIES = [(entry_id, f"text of {entry_id}") for entry_id in ("5-1", "5-9", "6-0", "6-1", "10-0")]


@pytest.mark.parametrize("known", range(len(ENTRIES) + 1))
def test_repeated_page_adds_the_missing_entries(client: Redis, known: int) -> None:
    restorer, session_id = Restorer(client), new_id()
    for entries in (ENTRIES[:known], ENTRIES):
        assert restorer.refill(session_id, "dialog", entries)
    found = client.xrange(session_key(session_id, "dialog"))
    assert [(entry_id, fields["m"]) for entry_id, fields in found] == ENTRIES
