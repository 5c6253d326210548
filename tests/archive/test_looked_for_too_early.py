"""A session that somebody looks for while it is being opened, or restored, is found there later by the sweep and the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from redis import Redis

from archived_by_hand import archive_now, spoken
from by_hand import ByHand
from symposia.models.collab import Collab, Participant
from symposia.models.ids import new_id
from symposia.models.submission import Submission
from symposia.state.keys import DUE, OWED, SESSIONS
from symposia.tasks.sweep import sweep

pytestmark = pytest.mark.leaves_keys

LONG_AGO_MS = 1_700_000_000_000
#: More than opening or restoring takes.
MOST_COMMANDS = 60


@contextmanager
def after_command(client: Redis, number: int, do: Callable[[], object]) -> Iterator[list[str]]:
    """Does something else right after the client's command of this number was answered; tells the commands so far."""
    sent: list[str] = []
    originals = {name: getattr(client, name) for name in ("execute_command", "evalsha")}

    def counted(name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            answer = originals[name](*args, **options)
            sent.append(name if name == "evalsha" else str(args[0]))
            if len(sent) == number:
                do()
            return answer

        return call

    for name in originals:
        setattr(client, name, counted(name))
    try:
        yield sent
    finally:
        for name in originals:
            delattr(client, name)


def everybody_looks(hand: ByHand) -> None:
    assert hand.runtime.archiver is not None
    sweep(hand.runtime)
    hand.runtime.archiver.round()
    list(hand.client.each_job())


def left_behind(client: Redis, session_id: str) -> None:
    """What the indexes still say of a session whose keys are gone."""
    for index in (SESSIONS, DUE, OWED):
        client.zadd(index, {session_id: LONG_AGO_MS})


def assert_looked_after(hand: ByHand, session_id: str, *, after: str) -> None:
    client = hand.runtime.store.client
    missing = [index for index in (SESSIONS, DUE, OWED) if client.zscore(index, session_id) is None]
    assert not missing, f"after {after}"


@pytest.mark.parametrize("known", ["a new id", "an id of a session that has expired"])
def test_while_it_is_opened(hand: ByHand, known: str) -> None:
    client = hand.client._to.redis
    opener = replace(hand.client._opener, grace_ms=0)
    people = [Participant(participant_id=name) for name in ("ann", "bob")]
    for number in range(1, MOST_COMMANDS):
        session_id = new_id()
        if known != "a new id":
            left_behind(client, session_id)
        collab = Collab(collab_id=session_id, title="A", purpose="b", mode="pair", participants=people)
        with after_command(client, number, lambda: everybody_looks(hand)) as sent:
            opener.open(Submission.build(collab, agents={"ann": "echo", "bob": "echo"}))
        assert_looked_after(hand, session_id, after=f"{sent[:number]}")
        if len(sent) < number:
            break
    assert 5 < number < MOST_COMMANDS


def test_while_it_is_restored(hand: ByHand) -> None:
    client = hand.client._to.redis
    for number in range(1, MOST_COMMANDS):
        job = spoken(hand)
        archive_now(hand, job)
        client.delete(*client.scan_iter(f"symposia:{{{job.id}}}:*"))
        left_behind(client, job.id)
        with after_command(client, number, lambda: everybody_looks(hand)) as sent:
            hand.client.restore(job.id)
        assert_looked_after(hand, job.id, after=f"{sent[:number]}")
        if len(sent) < number:
            break
    assert 5 < number < MOST_COMMANDS


def test_a_restored_session_is_listed_among_those_of_its_time(hand: ByHand) -> None:
    old = spoken(hand)
    archive_now(hand, old)
    hand.runtime.store.client.flushall()
    new = spoken(hand)
    hand.client.restore(old.id)
    assert [job.id for job in hand.client.jobs()] == [new.id, old.id]


def test_what_is_not_there_is_looked_for_no_more_after_an_hour(hand: ByHand) -> None:
    client, (lost, opening) = hand.client._to.redis, (new_id(), new_id())
    left_behind(client, lost)
    hand.client._to.index.add(opening, look_in_ms=0, archived=True)
    everybody_looks(hand)
    for index in (SESSIONS, DUE, OWED):
        assert client.zscore(index, lost) is None
        assert client.zscore(index, opening) is not None
