"""A participant's note, from turn to turn of a session."""

from __future__ import annotations

import asyncio

from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key
from symposia.state.turns.journal import NOTE_TTL_MS, ParticipantNote

ID = "0b5d7f0e-6c1c-4c58-9d4b-0a4f1f4f8c11"


def test_newest_note_of_a_participant_counts(redis_url):
    with connect(redis_url) as client:
        ann, bob = (ParticipantNote(client, ID, name) for name in ("ann", "bob"))
        for note in ("first", "second"):
            asyncio.run(ann.write_note(note))
        assert asyncio.run(ParticipantNote(client, ID, "ann").read_note()) == "second"
        assert asyncio.run(bob.read_note()) is None
        assert 0 < client.pttl(session_key(ID, "note:ann")) <= NOTE_TTL_MS


def test_missing_redis_means_no_note():
    with connect("redis://127.0.0.1:9/0", retries=0) as nobody:
        notes = ParticipantNote(nobody, ID, "ann")
        asyncio.run(notes.write_note("lost"))
        assert asyncio.run(notes.read_note()) is None
