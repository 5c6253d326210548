"""Programs wait for questions: each is returned once, until the session ends."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing

import pytest

from scaling import patient
from symposia import AsyncClient
from symposia.agents.execution.running import in_turn
from symposia.models.errors import ResultTimeout, WaitInTurn

REGISTRY = """
[agents.careful]
kind = "python"
callable = "stub_agents.asking:careful"

[agents.shy]
kind = "human"

[agents.busy]
kind = "human"
deadline_s = 0.05
then = "reassign"
to = "shy"
"""


@pytest.fixture
def installation(make_installation):
    return make_installation(REGISTRY)


def start(installation, turns=4):
    """Submit a session in which Ben, a person, has every second turn; nothing is delivered yet."""
    return installation.submit("round_robin", {"ann": "noop"}, people=["ben"], stop={"max_turns": turns})


@pytest.fixture
def working(installation):
    """Delivers what is queued, in a thread, until the test ends."""
    is_over = threading.Event()

    def work():
        while not is_over.wait(0.01):
            installation.work()

    thread = threading.Thread(target=work)
    thread.start()
    yield installation
    is_over.set()
    thread.join()


def test_each_question_is_yielded_once_until_the_end(working):
    job = start(working)
    numbers = []
    for question in job.questions():
        numbers.append(question.turn_number)
        job.reply("ben", "Yes.", token=question.reply_token)
    assert numbers == [2, 4]
    assert job.state().is_final


async def _answer_all(client, blocking):
    job, numbers = await client.get_job(blocking.id), []
    async with asyncio.timeout(patient(30)), aclosing(job.questions()) as questions:
        async for question in questions:
            numbers.append(question.turn_number)
            assert (await job.wait_for_question(timeout=1)).reply_token == question.reply_token
            # Through the installation, whose queue gets what follows from the answer.
            await asyncio.to_thread(blocking.reply, "ben", "Yes.", token=question.reply_token)
    return numbers, await job.wait_for_question()


def test_async_questions_are_yielded_once_until_the_end(working):
    job = start(working)

    async def follow():
        async with AsyncClient(working.client.settings) as client:
            return await _answer_all(client, job)

    assert asyncio.run(follow()) == ([2, 4], None)


def test_question_that_is_open_already_is_returned_at_once(installation):
    job = start(installation)
    installation.work()
    question = job.wait_for_question(timeout=0)
    assert question == job.wait_for_question(timeout=0) == job.pending()[0]
    job.cancel()


def test_wait_returns_the_question_that_is_asked_later(working):
    job = start(working)
    assert job.wait_for_question(timeout=patient(30)).asked == ("ben",)
    job.cancel()


def test_wait_ends_with_a_timeout(installation):
    job = start(installation)
    line = rf"^session '{job.id}' asked no question within 0\.01 s; it keeps running$"
    with pytest.raises(ResultTimeout, match=line):
        job.wait_for_question(timeout=0.01)

    async def wait():
        async with AsyncClient(installation.client.settings) as client:
            await (await client.get_job(job.id)).wait_for_question(timeout=0.01)

    with pytest.raises(ResultTimeout, match=line):
        asyncio.run(wait())
    job.cancel()


def test_end_of_the_session_ends_the_wait(installation):
    job = start(installation)
    installation.work()
    waiting = job.questions()
    assert next(waiting).turn_number == 2
    ending = threading.Timer(0.05, job.cancel)
    ending.start()
    assert next(waiting, None) is None
    ending.join()
    assert job.wait_for_question() is None
    assert list(job.questions()) == []


def test_question_that_was_answered_meanwhile_is_not_yielded(installation):
    job = installation.submit("broadcast", {}, people=["ann", "ben", "cyd"], stop={"max_rounds": 1})
    installation.work()
    waiting = job.questions()
    assert next(waiting).asked == ("ann",)
    job.reply("ben", "Yes.")
    assert next(waiting).asked == ("cyd",)
    job.cancel()
    assert list(waiting) == []


def test_question_for_another_person_is_another_question(installation):
    job = installation.submit(
        "round_robin", {"ann": "careful", "ben": "busy"}, people=["ben"], stop={"max_turns": 1}
    )
    installation.work()
    waiting = job.questions()
    first = next(waiting)
    installation.sweep_until(job, lambda: job.pending()[0].asked == ("shy",))
    second = next(waiting)
    assert (second.turn_number, second.asked) == (first.turn_number, ("shy",))
    job.cancel()


def test_turn_must_not_wait_for_a_question(installation):
    job = start(installation)
    with in_turn(job.id):
        for wait in (job.wait_for_question, job.questions):
            with pytest.raises(WaitInTurn):
                wait()
    job.cancel()
