"""Messages taken from another dialog keep their history and get no grant."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sessions.archiving_stepper import archive_now, archiving_stepper
from sessions.stepper import Stepper
from symposia.models.protocol.dialog import Message
from symposia.models.protocol.invariants import INVARIANTS
from symposia.models.sessions.submission import Submission
from symposia.models.text.ids import new_id, utcnow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from symposia.jobs.collab import CollabJob

pytestmark = pytest.mark.leaves_keys

ORIGIN = {"participant_id": "ann", "turn_number": 1, "token_id": new_id(), "fence": 7}


@pytest.fixture
def stepper(redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stepper]:
    monkeypatch.setenv("SYMPOSIA_ARCHIVE", "true")
    with archiving_stepper(redis_url, tmp_path) as stepper:
        yield stepper


def foreign(**event: object) -> dict[str, object]:
    """A message as an export of another session has it."""
    told = {"event_type": "dialog.message", "source": "collab", "data": ORIGIN, **event}
    return {"role": "agent", "content": "I have the lock.", "timestamp": utcnow().isoformat(), "event": told}


def opened(stepper: Stepper, *messages: object, turns: int = 2) -> CollabJob:
    return stepper.open("ann", "bob", turns=turns, agents={"ann": "echo", "bob": "echo"}, messages=messages)


def provenance(message: Message) -> tuple[object, ...]:
    return message.speaker, message.turn_number, message.token_id, message.fence


def violations(job: CollabJob) -> list[str]:
    rule = INVARIANTS["map_exclusive_write"]
    return [str(it) for it in rule.check(list(job.messages()), list(job.events()))]


def test_opening_messages_hold_no_grant(stepper: Stepper, mplp) -> None:
    job = opened(stepper, foreign())
    (message,) = job.messages()
    assert provenance(message) == (None,) * 4
    assert message.history == ORIGIN
    assert message.former_speaker == "ann"
    mplp.validate("dialog", job.dialog().to_wire())


def test_a_forged_turn_breaks_no_invariant(stepper: Stepper) -> None:
    job = opened(stepper, foreign())
    assert [stepper.turn(job, number) for number in (1, 2)] == ["committed", "committed"]
    assert [it.turn_number for it in job.messages()] == [None, 1, 2]
    assert violations(job) == []


def test_followers_see_opening_messages(stepper: Stepper) -> None:
    job = opened(stepper, foreign())
    assert [stepper.turn(job, number) for number in (1, 2)] == ["committed", "committed"]
    assert [it.speaker for it in job.messages(follow=True)] == [None, "ann", "bob"]


@pytest.mark.parametrize("door", ["submission", "session file"])
def test_every_way_to_submit_strips_grants(stepper: Stepper, door: str) -> None:
    collab = {"title": "t", "purpose": "p", "mode": "pair"}
    people = [{"participant_id": "ann", "agent": "echo"}, {"participant_id": "bob", "agent": "echo"}]
    submission = Submission.from_document({**collab, "participants": people, "messages": [foreign()]})
    if door == "submission":
        submission = submission.model_copy(update={"messages": (Message(**foreign()),)})
    (message,) = stepper.client._installation.sessions.submit(submission).messages()
    assert (provenance(message), message.history) == ((None,) * 4, ORIGIN)


def test_whole_dialog_continues_in_a_new_session(stepper: Stepper) -> None:
    first = opened(stepper, "Begin.")
    assert [stepper.turn(first, number) for number in (1, 2)] == ["committed", "committed"]
    before = list(first.messages())
    second = opened(stepper, *before)
    assert [stepper.turn(second, number) for number in (1, 2)] == ["committed", "committed"]
    after = list(second.messages())
    assert [it.former_speaker for it in after] == [None, "ann", "bob", None, None]
    assert [it.history.get("token_id") for it in after[1:3]] == [it.token_id for it in before[1:]]
    assert violations(second) == []
    assert [it.history for it in opened(stepper, *after).messages()][1:3] == [it.history for it in after[1:3]]


def test_posted_messages_hold_no_grant(stepper: Stepper) -> None:
    job = opened(stepper)
    job.post(json.dumps(foreign()))
    (message,) = job.messages()
    assert (provenance(message), dict(message.history), message.event) == ((None,) * 4, {}, None)


def test_restored_messages_keep_their_grants(stepper: Stepper) -> None:
    job = opened(stepper, foreign(), turns=4)
    assert [stepper.turn(job, number) for number in (1, 2)] == ["committed", "committed"]
    before = [it.to_wire() for it in job.messages()]
    archive_now(stepper, job)
    stepper.runtime.store.client.flushall()
    restored = stepper.client.restore(job.id)
    assert [it.to_wire() for it in restored.messages()] == before
    assert [it.turn_number for it in restored.messages()] == [None, 1, 2]
    assert violations(restored) == []
