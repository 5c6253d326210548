"""The list of sessions in Flower."""

from __future__ import annotations

import pytest

from live import until
from servers.flower import FlowerServer
from symposia.client import Client
from symposia.models.protocol.collab import Collab, Participant


def collab(title: str, mode: str = "pair") -> Collab:
    return Collab(
        title=title,
        purpose="Write one line.",
        mode=mode,
        participants=[Participant(participant_id=name, kind="agent") for name in ("ann", "bob")],
    )


def listed(flower: FlowerServer, query: str = "") -> list[str]:
    return [row["title"] for row in flower.json(f"/api/collabs?{query}")["collabs"]]


@pytest.mark.leaves_keys
def test_a_submitted_session_is_listed(flower, client: Client):
    job = client.submit(collab("A line"), agents={"ann": "say", "bob": "say"})
    (row,) = until(lambda: flower.json("/api/collabs")["collabs"])
    assert (row["id"], row["title"], row["mode"], row["status"]) == (job.id, "A line", "pair", "active")
    assert (row["attention"], row["archived"]) == ("no_worker", False)
