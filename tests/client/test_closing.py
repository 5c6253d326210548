"""A closed client leaves no connection open, and each later call raises ClientClosed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from celery import Celery
from redis import Redis

from live import until
from scaling import patient
from symposia import Client, Collab, CollabJob, Participant, SymposiaError, install
from symposia.config.settings import load_settings
from symposia.errors import ClientClosed

VERBS: dict[str, Callable[[Client], object]] = {
    "submit": lambda client: client.submit(a_collab()),
    "get_job": lambda client: client.get_job("0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d11"),
    "jobs": lambda client: client.jobs(),
    "each_job": lambda client: next(client.each_job()),
    "inbox": lambda client: client.inbox(),
    "restore": lambda client: client.restore("0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d11"),
    "review": lambda client: client.review(),
    "review_sessions": lambda client: client.review_sessions(),
    "get_review": lambda client: client.get_review("0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d11"),
    "schedules": lambda client: client.schedules,
    "memory": lambda client: client.memory,
    "conversations": lambda client: client.conversations,
    "archive": lambda client: client.archive,
    "archived": lambda client: client.archived(),
    "tenant": lambda client: client.tenant("acme"),
    "known_agents": lambda client: client.known_agents(),
    "redis_url": lambda client: client.redis_url,
}
JOB_VERBS: dict[str, Callable[[CollabJob], object]] = {
    "state": lambda job: job.state(),
    "status": lambda job: job.status(),
    "messages": lambda job: list(job.messages()),
    "followed messages": lambda job: list(job.messages(follow=True)),
    "stream": lambda job: list(job.stream()),
    "result": lambda job: job.result(timeout=1),
    "cancel": lambda job: job.cancel(),
    "post": lambda job: job.post("hello"),
    "reply": lambda job: job.reply("ann", "yes"),
    "board": lambda job: job.board(),
}


def a_collab() -> Collab:
    participants = [Participant(participant_id=name) for name in ("ann", "bob")]
    return Collab(title="t", purpose="p", mode="pair", participants=participants)


@pytest.fixture
def make(redis_url: str, tmp_path: Path) -> Callable[..., Client]:
    def make(**options: object) -> Client:
        return Client(load_settings(redis_url=redis_url, data_dir=tmp_path, archive=True), **options)

    return make


def connections(observer: Redis) -> set[str]:
    return {it["id"] for it in observer.client_list()}


def use_all(client: Client) -> CollabJob:
    """Open every connection that a client may open: Redis, broker, archive, memory, notifications."""
    job = client.submit(a_collab())
    client.archive.prepare()
    client.archived()
    client.memory.store(1, "room", {"to": "London"}, service="travel")
    client.conversations.notices("ann")
    client.inbox()
    client.schedules.entries()
    return job


def test_close_leaves_no_connection(make: Callable[..., Client], redis_url: str):
    with Redis.from_url(redis_url, decode_responses=True) as observer:
        observer.ping()
        with make() as client:
            before = connections(observer)
            use_all(client)
            opened = connections(observer) - before
            assert opened
        until(lambda: not opened & connections(observer), what="the connections are closed")
        assert client._installation.sessions._open_archive().database._engine.pool.checkedin() == 0


def test_close_is_harmless_twice(make: Callable[..., Client]):
    client = make()
    use_all(client)
    client.close()
    client.close()
    make().close()


def test_close_in_one_client_leaves_another_open(make: Callable[..., Client]):
    with make() as other:
        other.submit(a_collab())
        with make() as client:
            client.submit(a_collab())
        assert other.submit(a_collab()).status() == "active"


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_closed_client_raises(make: Callable[..., Client], verb):
    with make() as client:
        pass
    with pytest.raises(ClientClosed, match="client is closed"):
        verb(client)


@pytest.mark.parametrize("verb", JOB_VERBS.values(), ids=JOB_VERBS)
def test_job_of_closed_client_raises(make: Callable[..., Client], verb):
    with make() as client:
        job = client.submit(a_collab())
    with pytest.raises(ClientClosed):
        verb(job)


def test_services_of_closed_client_raise(make: Callable[..., Client]):
    with make() as client:
        use_all(client)
        memory, schedules, conversations = client.memory, client.schedules, client.conversations
        archive, review = client.archived(), client.get_review("0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d11")
    for call in (
        lambda: memory.show(1, "room"),
        schedules.entries,
        lambda: conversations.task_list("ann"),
        lambda: archive.ids("a"),
        review.progress,
    ):
        with pytest.raises(ClientClosed):
            call()


def test_close_ends_a_call_that_waits(make: Callable[..., Client]):
    errors: list[SymposiaError] = []

    def wait(job: CollabJob) -> None:
        try:
            job.result()
        except SymposiaError as error:
            errors.append(error)

    client = make()
    job = client.submit(a_collab())
    waiting = threading.Thread(target=wait, args=[job])
    waiting.start()
    redis = client._installation.redis
    until(lambda: any(it["cmd"] == "xread" for it in redis.client_list()), what="the call waits")
    client.close()
    waiting.join(patient(20))
    assert [type(it) for it in errors] == [ClientClosed]


def test_app_of_the_caller_stays_open(make: Callable[..., Client], redis_url: str):
    app = Celery("mine", broker=redis_url, set_as_current=False)
    install(app, make().settings)
    with make(app=app) as client:
        client.submit(a_collab())
    app.send_task("symposia.nothing")
