"""Sessions that Redis lost are restored from the archive."""

from __future__ import annotations

import pytest

from live import result_of
from sessions.archiving import archived, live
from sessions.archiving_stepper import archive_now, spoken
from sessions.stepper import Stepper
from symposia.jobs.collab import CollabJob
from symposia.models.errors import NotLive, NotRestorable, SessionNotFound
from symposia.models.protocol.collab import CollabStatus
from symposia.models.text.ids import new_id
from symposia.state.redis.keys import ARCHIVE_QUEUE, DUE, INBOX, SESSIONS
from symposia.state.sessions.archiving import Restorer

pytestmark = pytest.mark.leaves_keys


def test_lost_session_completes_with_archived_messages(stepper: Stepper) -> None:
    job = spoken(stepper)
    archive = archive_now(stepper, job)
    before = live(stepper.runtime.store.client, job.id)
    stepper.runtime.store.client.flushall()
    assert isinstance(stepper.client.restore(job.id), CollabJob)
    assert live(stepper.runtime.store.client, job.id) == before
    for number in (3, 4):
        stepper.turn(job, number)
    assert job.status() is CollabStatus.COMPLETED
    assert len(before["dialog"]) == 2
    after = live(stepper.runtime.store.client, job.id)
    assert after["dialog"][:2] == before["dialog"]
    assert [message.turn_number for message in job.messages()] == [1, 2, 3, 4]
    archive_now(stepper, job)
    assert archived(archive, job.id) == after


def test_running_turn_of_a_lost_session_is_sent_again(stepper: Stepper) -> None:
    job = spoken(stepper, before=1)
    archive_now(stepper, job)
    stepper.turn(job, 2)
    stepper.runtime.store.client.flushall()
    stepper.client.restore(job.id)
    assert [message.turn_number for message in job.messages()] == [1]
    assert stepper.turn(job, 2) == "committed"


def test_restoring_twice_changes_nothing(stepper: Stepper) -> None:
    job = spoken(stepper)
    archive_now(stepper, job)
    stepper.runtime.store.client.flushall()
    stepper.client.restore(job.id)
    before = live(stepper.runtime.store.client, job.id)
    with pytest.raises(NotRestorable, match="it is already live"):
        stepper.client.restore(job.id)
    assert live(stepper.runtime.store.client, job.id) == before


def test_repeated_restore_is_answered_again(stepper: Stepper) -> None:
    job = spoken(stepper)
    archive = archive_now(stepper, job)
    documents, snapshot = archive.reader.session(job.id).documents, archive.reader.snapshot(job.id)
    stepper.runtime.store.client.flushall()
    restorer = Restorer(stepper.runtime.store.client)
    first, again = (restorer.restore(job.id, documents, snapshot, request="mine") for _ in range(2))
    assert (first.word, again.word) == ("restored", "restored")
    other = restorer.restore(job.id, documents, snapshot, request="another")
    assert (other.word, other.state) == ("exists", None)


def test_restore_finishes_an_interrupted_restore(stepper: Stepper) -> None:
    job = stepper.open("ann", "ben", turns=4, agents={"ann": "echo", "ben": "human"})
    assert [stepper.turn(job, number) for number in (1, 2)] == ["committed", "parked"]
    archive_now(stepper, job)
    client = stepper.runtime.store.client
    client.delete(DUE, ARCHIVE_QUEUE, SESSIONS, INBOX)
    with pytest.raises(NotRestorable, match="it is already live"):
        stepper.client.restore(job.id)
    assert all(client.zscore(index, job.id) is not None for index in (DUE, ARCHIVE_QUEUE, SESSIONS))
    assert [question.session_id for question in stepper.client.inbox("ben")] == [job.id]


def test_next_restore_finishes_an_interrupted_one(stepper: Stepper) -> None:
    job = spoken(stepper)
    archive_now(stepper, job)
    before = live(stepper.runtime.store.client, job.id)
    client = stepper.runtime.store.client
    client.delete(
        *[key for key in client.scan_iter(f"symposia:{{{job.id}}}:*") if not key.endswith("dialog")]
    )
    stepper.client.restore(job.id)
    assert live(client, job.id) == before


def test_live_session_is_not_overwritten_by_a_restore(stepper: Stepper) -> None:
    job = spoken(stepper)
    client = stepper.runtime.store.client
    before = live(client, job.id)
    assert not Restorer(client).refill(job.id, "events", [("9999999999999-0", "{}")])
    assert live(client, job.id) == before


def test_ended_session_is_shown_and_not_restored(stepper: Stepper) -> None:
    job = spoken(stepper, turns=2)
    archive_now(stepper, job)
    live_one = result_of(job)
    stepper.runtime.store.client.flushall()
    with pytest.raises(NotRestorable, match="it is completed"):
        stepper.client.restore(job.id)
    found = stepper.client.get_job(job.id)
    assert found.result() == live_one
    assert found.turn_state().current_turn_holder == "echo2"
    assert found.usage().keys() == {"echo", "echo2"}
    assert "mermaid" not in found.graph("text")
    assert found.wait_for_question() is None
    assert list(found.questions()) == []
    with pytest.raises(NotLive):
        found.cancel()


def test_questions_of_a_lost_session_cannot_be_awaited(stepper: Stepper) -> None:
    job = spoken(stepper)
    archive_now(stepper, job)
    stepper.runtime.store.client.flushall()
    found = stepper.client.get_job(job.id)
    for wait in (found.wait_for_question, found.questions):
        with pytest.raises(NotLive):
            wait()


def test_unarchived_session_is_not_found(stepper: Stepper) -> None:
    with pytest.raises(SessionNotFound):
        stepper.client.restore(new_id())
    with pytest.raises(SessionNotFound):
        stepper.client.get_job(new_id())
