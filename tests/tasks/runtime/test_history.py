"""The history of a session is read from live sessions and from the archive, and says so where it is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions.archived_by_hand import archive_now, hand_with_archive
from sessions.by_hand import ByHand
from symposia.models.errors import AgentFailed, ArchiveUnavailable
from symposia.tasks.runtime.history import HistoryReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from symposia.jobs.collab import CollabJob

pytestmark = pytest.mark.leaves_keys


@pytest.fixture
def hand(redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ByHand]:
    monkeypatch.setenv("SYMPOSIA_ARCHIVE", "true")
    with hand_with_archive(redis_url, tmp_path) as hand:
        yield hand


def ended(hand: ByHand, *messages: str) -> CollabJob:
    job = hand.open("ann", "bob", turns=2, agents={"ann": "echo", "bob": "echo"}, messages=messages)
    return finished(hand, job)


def finished(hand: ByHand, job: CollabJob) -> CollabJob:
    hand.plan(job)
    assert [hand.turn(job, number) for number in (1, 2)] == ["committed", "committed"]
    return job


def chain(hand: ByHand, count: int) -> CollabJob:
    """A session that continues a chain of sessions."""
    job = ended(hand, "0")
    for number in range(1, count):
        job = finished(hand, job.continue_with(str(number)))
    return job.continue_with("last")


def expire(hand: ByHand, job: CollabJob) -> None:
    client = hand.runtime.store.client
    client.delete(*client.keys(f"*{job.id}*"))


def texts(reader: HistoryReader, hand: ByHand, job: CollabJob, count: int = 100) -> list[str]:
    return [it.content for it in reader.before(hand.runtime.sessions.facts.get(job.id), count)]


def test_history_is_the_newest_messages_of_the_chain(hand: ByHand) -> None:
    job = chain(hand, 3)
    every = [text for number in range(3) for text in [str(number)] * 3]
    for count in range(len(every) + 2):
        reader = HistoryReader(hand.runtime.store)
        assert texts(reader, hand, job, count) == every[len(every) - min(count, len(every)) :]
        assert texts(reader, hand, job) == every


def test_old_speakers_are_kept_without_grants(hand: ByHand) -> None:
    job = chain(hand, 1)
    messages = hand.runtime.sessions.history.before(hand.runtime.sessions.facts.get(job.id), 9)
    assert [it.former_speaker for it in messages] == [None, "ann", "bob"]
    assert {it.speaker for it in messages} == {None}


def test_expired_history_is_read_from_the_archive(hand: ByHand) -> None:
    first = ended(hand, "0")
    job = first.continue_with("1")
    archive_now(hand, first)
    expire(hand, first)
    assert texts(hand.runtime.sessions.history, hand, job) == ["0"] * 3
    archived = hand.client.get_job(first.id)
    assert not archived.is_live
    assert archived.continue_with("again").dialog().thread_id == first.id
    fork = archived.fork(at_turn=2)
    hand.plan(fork)
    assert hand.turn(fork, 2) == "committed"
    assert fork.state().closed == first_turns(hand, first)


def first_turns(hand: ByHand, job: CollabJob) -> int:
    return hand.client.get_job(job.id).state().closed


def test_missing_history_is_a_note(hand: ByHand) -> None:
    first = ended(hand, "0")
    job = first.continue_with("1")
    expire(hand, first)
    (note,) = hand.runtime.sessions.history.before(hand.runtime.sessions.facts.get(job.id), 9)
    assert note.role == "system"
    assert first.id in note.content


def test_history_in_memory_needs_no_server(hand: ByHand) -> None:
    first = ended(hand, "0")
    job = first.continue_with("1")
    assert texts(hand.runtime.sessions.history, hand, job) == ["0"] * 3
    expire(hand, first)
    assert texts(hand.runtime.sessions.history, hand, job) == ["0"] * 3


def test_memory_of_histories_is_bounded(hand: ByHand) -> None:
    job = chain(hand, 4)
    reader = HistoryReader(hand.runtime.store, limit=1)
    assert len(texts(reader, hand, job)) == 12
    assert len(reader._known) == 1


def test_archive_outage_repeats_the_attempt(hand: ByHand) -> None:
    def down() -> None:
        raise ArchiveUnavailable("no answer")

    first = ended(hand, "0")
    job = first.continue_with("1")
    expire(hand, first)
    reader = HistoryReader(hand.runtime.store, archive=down)
    with pytest.raises(AgentFailed, match="reading the history of the session failed") as caught:
        texts(reader, hand, job)
    assert caught.value.retryable


def test_history_of_a_session_lost_since_is_refused(hand: ByHand) -> None:
    first = ended(hand, "0")
    expire(hand, first)
    with pytest.raises(Exception, match="not found"):
        hand.client.submit(continues=first.id, messages=["1"])
