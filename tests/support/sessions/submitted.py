"""Sessions of two agents, submitted by a client."""

from __future__ import annotations

from typing import Any

from symposia.client import Client
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant


def collab_of_two(title: str, mode: str = "pair") -> Collab:
    people = [Participant(participant_id=name, kind="agent") for name in ("ann", "bob")]
    return Collab(title=title, purpose="Write one line.", mode=mode, participants=people)


def submit_two(
    client: Client, title: str, *, agent: str = "say", mode: str = "pair", **more: Any
) -> CollabJob:
    """Submits a session of ann and bob with the same agent."""
    return client.submit(collab_of_two(title, mode), agents={"ann": agent, "bob": agent}, **more)
