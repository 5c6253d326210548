"""A lookup during opening or restoring does not hide a session from the sweep and the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from redis import Redis

from sessions.archiving_stepper import archive_now, spoken
from sessions.stepper import Stepper
from symposia.client import Client
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.submission import Submission
from symposia.models.text.ids import new_id
from symposia.state.redis.keys import ARCHIVE_QUEUE, DUE, SESSIONS, session_key
from symposia.state.sessions import index as index_module
from symposia.state.sessions import opened as opened_module
from symposia.tasks.sessions.sweep import sweep

# A session is restored for every command of whoever does it.
pytestmark = [pytest.mark.leaves_keys, pytest.mark.timeout(150)]

LONG_AGO_MS = 1_700_000_000_000
#: More than opening or restoring takes.
MAX_COMMANDS = 60


@contextmanager
def after_command(client: Redis, number: int, do: Callable[[], object], sent: list[str]) -> Iterator[None]:
    """Run an action right after the client's command with this number; `sent` gets the commands."""
    originals = {name: getattr(client, name) for name in ("execute_command", "evalsha", "send_in_order")}

    def count(command: str) -> None:
        sent.append(command)
        if len(sent) == number:
            do()

    def counted(name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            answer = originals[name](*args, **options)
            count(name if name == "evalsha" else str(args[0]))
            return answer

        return call

    def send_in_order(stages: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Send one command at a time: the server may run those of others between them."""

        def send(command: Any) -> Any:
            ((answer,),) = originals["send_in_order"]([[command]])
            count(str(command[0]))
            return answer

        return [[send(command) for command in stage] for stage in stages]

    for name in ("execute_command", "evalsha"):
        setattr(client, name, counted(name))
    client.send_in_order = send_in_order  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for name in originals:
            delattr(client, name)


def each_moment(
    client: Redis, do: Callable[[], object]
) -> Iterator[tuple[list[str], AbstractContextManager[None]]]:
    """For each command of the client a block, in which something else happens right after it."""
    for number in range(1, MAX_COMMANDS):
        sent: list[str] = []
        yield sent, after_command(client, number, do, sent)
        client.flushall()
        if len(sent) < number:
            assert number > 1, "nothing has happened in between"
            return
    pytest.fail(f"{MAX_COMMANDS} commands, and it is not over")


def everybody_looks(stepper: Stepper) -> None:
    assert stepper.runtime.ports.archiver is not None
    sweep(stepper.runtime)
    stepper.runtime.ports.archiver.archive_due()
    list(stepper.client.each_job())
    stepper.client.inbox()


def left_behind(client: Redis, session_id: str) -> None:
    """What the indexes still say of a session whose keys are gone."""
    for index in (SESSIONS, DUE, ARCHIVE_QUEUE):
        client.zadd(index, {session_id: LONG_AGO_MS})


def assert_looked_after(stepper: Stepper, session_id: str, *, asked: bool, after: list[str]) -> None:
    client = stepper.runtime.store.client
    missing = [index for index in (SESSIONS, DUE, ARCHIVE_QUEUE) if client.zscore(index, session_id) is None]
    assert not missing, f"after {after}"
    assert [it.session_id for it in stepper.client.inbox()] == [session_id] * asked, f"after {after}"


@pytest.fixture
def opening(stepper: Stepper) -> Callable[[str], object]:
    """Open a session under an id, due for a check soon."""
    opener = replace(stepper.client._installation.sessions._opener, grace_ms=0)
    people = [Participant(participant_id=name) for name in ("ann", "bob")]

    def opened(session_id: str) -> object:
        collab = Collab(collab_id=session_id, title="A", purpose="b", mode="pair", participants=people)
        return opener.open(Submission.build(collab, agents={"ann": "echo", "bob": "echo"}))

    return opened


def lost(stepper: Stepper) -> str:
    """The id of a session that is archived, and of which Redis has nothing but entries in its indexes: a person was asked."""
    job = stepper.open("ann", "ben", turns=4, agents={"ann": "echo", "ben": "human"})
    assert [stepper.turn(job, number) for number in (1, 2)] == ["committed", "parked"]
    client = stepper.client._installation.sessions.connections.redis
    client.hset(session_key(job.id, "session"), "opened_ms", LONG_AGO_MS)
    archive_now(stepper, job)
    client.delete(*client.scan_iter(f"symposia:{{{job.id}}}:*"))
    left_behind(client, job.id)
    return job.id


@pytest.fixture(params=["at once", "in hours"])
def pace(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In hours: by the time anybody looks, the entry is older than that of a session that is about to be opened."""
    if request.param == "in hours":
        monkeypatch.setattr(index_module, "ORPHAN_MS", -1)
        monkeypatch.setattr(opened_module, "_SOON_MS", -1)


@pytest.mark.usefixtures("pace")
@pytest.mark.parametrize("known", ["a new id", "an id of a session that has expired"])
@pytest.mark.long
def test_concurrent_open_keeps_the_session(
    stepper: Stepper, opening: Callable[[str], object], known: str
) -> None:
    client = stepper.client._installation.sessions.connections.redis
    for sent, moment in each_moment(client, lambda: everybody_looks(stepper)):
        session_id = new_id()
        if known != "a new id":
            left_behind(client, session_id)
        with moment:
            opening(session_id)
        assert_looked_after(stepper, session_id, asked=False, after=sent)


@pytest.mark.usefixtures("pace")
@pytest.mark.long
def test_concurrent_restore_keeps_the_session(stepper: Stepper) -> None:
    for sent, moment in each_moment(
        stepper.client._installation.sessions.connections.redis, lambda: everybody_looks(stepper)
    ):
        session_id = lost(stepper)
        with moment:
            stepper.client.restore(session_id)
        assert_looked_after(stepper, session_id, asked=True, after=sent)


LOOKERS: dict[str, Callable[[Stepper, Client], object]] = {
    "the sweep": lambda stepper, _: sweep(stepper.runtime),
    "the archiver": lambda stepper, _: stepper.runtime.ports.archiver.archive_due(),  # type: ignore[union-attr]
    "a listing": lambda _, other: list(other.each_job()),
    "a reader of the inbox": lambda _, other: other.inbox(),
}


@pytest.mark.usefixtures("pace")
@pytest.mark.parametrize("looker", LOOKERS)
@pytest.mark.parametrize("how", ["opened", "restored"])
@pytest.mark.long
def test_session_survives_a_concurrent_lookup(
    stepper: Stepper, opening: Callable[[str], object], looker: str, how: str
) -> None:
    """Everything happens between two commands of the reading client."""
    other = Client(stepper.client.settings)
    client = (
        other._installation.sessions.connections.redis
        if looker.startswith("a ")
        else stepper.runtime.store.client
    )
    now: list[str] = []
    happens = {"opened": lambda: opening(now[-1]), "restored": lambda: stepper.client.restore(now[-1])}
    for sent, moment in each_moment(client, happens[how]):
        now.append(lost(stepper) if how == "restored" else new_id())
        left_behind(client, now[-1])
        with moment:
            LOOKERS[looker](stepper, other)
        if len(sent) >= len(now):  # else nothing has happened
            assert_looked_after(stepper, now[-1], asked=how == "restored", after=sent)


def test_restored_session_keeps_its_place_in_the_list(stepper: Stepper) -> None:
    old = spoken(stepper)
    archive_now(stepper, old)
    stepper.runtime.store.client.flushall()
    new = spoken(stepper)
    stepper.client.restore(old.id)
    assert [job.id for job in stepper.client.jobs()] == [new.id, old.id]


def test_missing_session_is_dropped_after_an_hour(stepper: Stepper) -> None:
    client, (lost, opening) = stepper.client._installation.sessions.connections.redis, (new_id(), new_id())
    left_behind(client, lost)
    stepper.client._installation.sessions.connections.index.add_session(
        opening, look_in_ms=0, archive_in_ms=0
    )
    everybody_looks(stepper)
    for index in (SESSIONS, DUE, ARCHIVE_QUEUE):
        assert client.zscore(index, lost) is None
        assert client.zscore(index, opening) is not None
