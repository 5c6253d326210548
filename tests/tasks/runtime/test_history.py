"""The history of a session is read from live sessions and from the archive, and says so where it is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions.archiving_stepper import archive_now, archiving_stepper
from sessions.stepper import Stepper
from symposia.models.errors import AgentFailed, ArchiveUnavailable
from symposia.tasks.runtime.history import HistoryReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from symposia.jobs.collab import CollabJob

pytestmark = pytest.mark.leaves_keys


@pytest.fixture
def stepper(redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stepper]:
    monkeypatch.setenv("SYMPOSIA_ARCHIVE", "true")
    with archiving_stepper(redis_url, tmp_path) as stepper:
        yield stepper


def ended(stepper: Stepper, *messages: str) -> CollabJob:
    job = stepper.open("ann", "bob", turns=2, agents={"ann": "echo", "bob": "echo"}, messages=messages)
    return finished(stepper, job)


def finished(stepper: Stepper, job: CollabJob) -> CollabJob:
    stepper.plan(job)
    assert [stepper.turn(job, number) for number in (1, 2)] == ["committed", "committed"]
    return job


def chain(stepper: Stepper, count: int) -> CollabJob:
    """A session that continues a chain of sessions."""
    job = ended(stepper, "0")
    for number in range(1, count):
        job = finished(stepper, job.continue_with(str(number)))
    return job.continue_with("last")


def expire(stepper: Stepper, job: CollabJob) -> None:
    client = stepper.runtime.store.client
    client.delete(*client.keys(f"*{job.id}*"))


def texts(reader: HistoryReader, stepper: Stepper, job: CollabJob, count: int = 100) -> list[str]:
    return [it.content for it in reader.before(stepper.runtime.sessions.facts.get(job.id), count)]


def test_history_is_the_newest_messages_of_the_chain(stepper: Stepper) -> None:
    job = chain(stepper, 3)
    every = [text for number in range(3) for text in [str(number)] * 3]
    for count in range(len(every) + 2):
        reader = HistoryReader(stepper.runtime.store)
        assert texts(reader, stepper, job, count) == every[len(every) - min(count, len(every)) :]
        assert texts(reader, stepper, job) == every


def test_old_speakers_are_kept_without_grants(stepper: Stepper) -> None:
    job = chain(stepper, 1)
    messages = stepper.runtime.sessions.history.before(stepper.runtime.sessions.facts.get(job.id), 9)
    assert [it.former_speaker for it in messages] == [None, "ann", "bob"]
    assert {it.speaker for it in messages} == {None}


def test_expired_history_is_read_from_the_archive(stepper: Stepper) -> None:
    first = ended(stepper, "0")
    job = first.continue_with("1")
    archive_now(stepper, first)
    expire(stepper, first)
    assert texts(stepper.runtime.sessions.history, stepper, job) == ["0"] * 3
    archived = stepper.client.get_job(first.id)
    assert not archived.is_live
    assert archived.continue_with("again").dialog().thread_id == first.id
    fork = archived.fork(at_turn=2)
    stepper.plan(fork)
    assert stepper.turn(fork, 2) == "committed"
    assert fork.state().closed == first_turns(stepper, first)


def first_turns(stepper: Stepper, job: CollabJob) -> int:
    return stepper.client.get_job(job.id).state().closed


def test_missing_history_is_a_note(stepper: Stepper) -> None:
    first = ended(stepper, "0")
    job = first.continue_with("1")
    expire(stepper, first)
    (note,) = stepper.runtime.sessions.history.before(stepper.runtime.sessions.facts.get(job.id), 9)
    assert note.role == "system"
    assert first.id in note.content


def test_history_in_memory_needs_no_server(stepper: Stepper) -> None:
    first = ended(stepper, "0")
    job = first.continue_with("1")
    assert texts(stepper.runtime.sessions.history, stepper, job) == ["0"] * 3
    expire(stepper, first)
    assert texts(stepper.runtime.sessions.history, stepper, job) == ["0"] * 3


def test_memory_of_histories_is_bounded(stepper: Stepper) -> None:
    job = chain(stepper, 4)
    reader = HistoryReader(stepper.runtime.store, limit=1)
    assert len(texts(reader, stepper, job)) == 12
    assert len(reader._known) == 1


def test_archive_outage_repeats_the_attempt(stepper: Stepper) -> None:
    def down() -> None:
        raise ArchiveUnavailable("no answer")

    first = ended(stepper, "0")
    job = first.continue_with("1")
    expire(stepper, first)
    reader = HistoryReader(stepper.runtime.store, archive=down)
    with pytest.raises(AgentFailed, match="reading the history of the session failed") as caught:
        texts(reader, stepper, job)
    assert caught.value.retryable


def test_history_of_a_session_lost_since_is_refused(stepper: Stepper) -> None:
    first = ended(stepper, "0")
    expire(stepper, first)
    with pytest.raises(Exception, match="not found"):
        stepper.client.submit(continues=first.id, messages=["1"])


def test_opening_is_read_once_when_it_cannot_grow(stepper: Stepper) -> None:
    client = stepper.runtime.store.client
    reader = HistoryReader(stepper.runtime.store)
    job = stepper.open("ann", "bob", turns=2, agents={"ann": "echo", "bob": "echo"}, messages=("one", "two"))
    opened_ms = stepper.runtime.store.state(job.id).opened_ms
    assert [message.content for message in reader.opening(job.id, opened_ms)] == ["one", "two"]
    job.post("three")
    assert [message.content for message in reader.opening(job.id, opened_ms)] == ["one", "two", "three"]
    finished(stepper, job)
    opening = reader.opening(job.id, opened_ms)
    client.delete(f"symposia:{{{job.id}}}:dialog")
    assert reader.opening(job.id, opened_ms) == opening
    assert reader.opening(job.id, opened_ms + 1) == ()
