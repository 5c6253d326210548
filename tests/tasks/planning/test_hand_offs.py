"""Hand-offs of whole sessions: the order that comes of them, and the record of those that are refused."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.inline_installation import InlineInstallation

REGISTRY = """
[agents.say]
kind = "scripted"
replies = ["a word"]

[agents.to_cyd]
kind = "scripted"
replies = ["Not mine.\\nHAND OFF: Cyd", "a word"]

[agents.to_ghost]
kind = "scripted"
replies = [{ say = "Somebody else.", hand_off = "ghost" }]
"""


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> Iterator[InlineInstallation]:
    installation = InlineInstallation(tmp_path, redis_url, REGISTRY)
    yield installation
    installation.close()


def refusals(job):
    events = [event.data for event in job.collab().events if event.event_type == "turn.handoff.refused"]
    return [(it["turn_number"], it["participant_id"], it["to"], it["reason"]) for it in events]


def test_round_robin_follows_and_refuses_hand_offs(installation, caplog):
    agents = {"ann": "to_cyd", "bob": "to_ghost", "cyd": "say"}
    job = installation.submit("round_robin", agents, stop={"max_rounds": 1})
    with caplog.at_level(logging.INFO):
        installation.work()
    assert [message.speaker for message in job.messages()] == ["ann", "cyd", "bob"]
    assert (job.state().reason, job.state().rounds) == ("max_rounds", 1)
    assert refusals(job) == [(3, "bob", "ghost", "no participant has this name")]
    assert f"turn 3 of {job.id}: hand-off to 'ghost' refused: no participant has this name" in caplog.text


@pytest.mark.parametrize("mode", ["pair", "broadcast"])
def test_other_modes_record_each_refusal_once(installation, mode):
    job = installation.submit(mode, {"ann": "to_ghost", "bob": "to_cyd"}, stop={"max_rounds": 1})
    installation.work()
    refused = "mode broadcast does not allow hand-offs"
    told = [(1, "ann", "ghost", refused if mode == "broadcast" else "no participant has this name")]
    # The second turn of a pair is a review, whose text is read for an approval only.
    told += [(2, "bob", "Cyd", refused)] if mode == "broadcast" else []
    assert refusals(job) == told


def test_driver_of_a_pair_hands_off_to_its_partner(installation):
    job = installation.submit("pair", {"ann": "to_cyd", "cyd": "say"}, stop={"max_rounds": 1})
    installation.work()
    assert [message.speaker for message in job.messages()] == ["ann", "cyd", "ann"]
    assert (job.state().reason, refusals(job)) == ("max_rounds", [])
