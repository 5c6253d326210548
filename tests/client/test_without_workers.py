"""Calls that would wait for ever because no worker is running log a warning at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from live import until
from scaling import patient
from symposia import AsyncCollabJob
from symposia.client import Client
from symposia.client.aio.async_methods import CallThreads
from symposia.jobs.collab import CollabJob
from symposia.models.errors import ResultTimeout
from symposia.models.protocol.collab import Collab

PAIR = {"title": "t", "purpose": "p", "mode": "pair", "participants": [{"participant_id": n} for n in "ab"]}


async def last_of(items: Any) -> None:
    async for _ in items:
        pass


async def asynchronously(job: CollabJob, wait: Callable[[AsyncCollabJob], Awaitable[object]]) -> None:
    threads = CallThreads(2)
    await wait(AsyncCollabJob(job, threads))
    threads.close()


#: Calls that wait until the session has ended.
WAITING: dict[str, Callable[[CollabJob], object]] = {
    "result": lambda job: job.result(),
    "messages": lambda job: list(job.messages(follow=True)),
    "events": lambda job: list(job.events(follow=True)),
    "stream": lambda job: list(job.stream()),
    "async result": lambda job: asyncio.run(asynchronously(job, lambda it: it.result())),
    "async messages": lambda job: asyncio.run(
        asynchronously(job, lambda it: last_of(it.messages(follow=True)))
    ),
    "async events": lambda job: asyncio.run(asynchronously(job, lambda it: last_of(it.events(follow=True)))),
    "async stream": lambda job: asyncio.run(asynchronously(job, lambda it: last_of(it.stream()))),
}


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Takes the warnings that were logged since the last call."""

    def take() -> list[str]:
        found = [it.getMessage() for it in caplog.records if it.levelno >= logging.WARNING]
        caplog.clear()
        return found

    return take


def warning(job: CollabJob) -> str:
    return f"no worker is running, session {job.id} is waiting: start one with `symposia worker` or `symposia up`"


def test_submit_warns(client: Client, warnings):
    collab = Collab(**PAIR)
    job = client.submit(collab)
    assert warnings() == [warning(job)]
    assert client.submit(collab).id == job.id
    assert warnings() == [warning(job)]
    job.cancel()
    client.submit(collab)
    assert warnings() == []


@pytest.mark.parametrize("wait", WAITING.values(), ids=WAITING)
def test_a_waiting_call_warns_once(client: Client, warnings, caplog: pytest.LogCaptureFixture, wait):
    job = client.submit(PAIR)
    warnings()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait, job)
        until(lambda: caplog.records, what="a warning is logged")
        job.cancel()
        waiting.result(patient(20))
    assert warnings() == [warning(job)]


@pytest.mark.parametrize("wait", WAITING.values(), ids=WAITING)
def test_an_ended_session_needs_no_worker(client: Client, warnings, wait):
    job = client.submit(PAIR)
    job.cancel()
    warnings()
    wait(job)
    assert warnings() == []


def test_job_reports_how_long_it_is_queued(client: Client):
    job = client.submit(PAIR)
    first = job.queued_for_s()
    assert first is not None
    until(lambda: job.queued_for_s() > first, what="it grows")
    job.cancel()
    assert job.queued_for_s() is None


def test_nothing_is_logged_while_a_worker_is_running(client: Client, warnings):
    client._installation.sessions.workers.announce("w1@here", ["a", "b"])
    job = client.submit(PAIR)
    with pytest.raises(ResultTimeout):
        job.result(timeout=0.1)
    assert warnings() == []
    job.cancel()


def test_a_client_may_give_workers_time_to_start(client: Client, warnings):
    patient = Client(client.settings, worker_grace_s=60)
    job = patient.submit(PAIR)
    with pytest.raises(ResultTimeout):
        job.result(timeout=0.1)
    assert warnings() == []
    job.cancel()
