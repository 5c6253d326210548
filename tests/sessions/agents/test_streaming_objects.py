"""Functions and agents of other libraries are read along while they speak. LangChain and OpenAI: test_framework_agents.py."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel

from live import until
from scaling import patient
from sessions.reader import Reader
from symposia import LocalClient, TurnContext
from symposia.models.turns.turn import TurnOutcome
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key

pytestmark = pytest.mark.timeout(120)


def collab(*names: str) -> dict[str, object]:
    return {
        "title": "T",
        "purpose": "P",
        "mode": "round_robin",
        "participants": [{"participant_id": it, "kind": "agent"} for it in names],
    }


FIRST, LAST = "one two ", "three"

#: Lets the agents go on after their first piece.
gate = threading.Event()


def pieces() -> Iterator[str]:
    yield FIRST
    gate.wait(patient(60))
    yield LAST


async def apieces() -> AsyncIterator[str]:
    yield FIRST
    await asyncio.to_thread(gate.wait, patient(60))
    yield LAST


def generator(turn: TurnContext) -> Iterator[str]:
    yield from pieces()


async def async_generator(turn: TurnContext) -> AsyncIterator[str]:
    async for piece in apieces():
        yield piece


async def async_iterator(turn: TurnContext) -> AsyncIterator[str]:
    return apieces()


def generator_of_prompt(prompt: str) -> Iterator[str]:
    yield from pieces()


def writer(turn: TurnContext) -> None:
    for piece in pieces():
        turn.write(piece)


async def async_writer(turn: TurnContext) -> None:
    async for piece in apieces():
        turn.write(piece)


async def model(_messages: object, _info: object) -> AsyncIterator[str]:
    async for piece in apieces():
        yield piece


@pytest.fixture
def follow() -> Iterator[Callable[..., Reader]]:
    """Runs a session in which the agent speaks second, and reads along from before that turn."""
    gate.clear()
    following = threading.Event()

    def first(turn: TurnContext) -> str:
        following.wait(patient(60))
        return "first"

    clients = []

    def start(agent: object) -> Reader:
        clients.append(client := LocalClient({"bob": first, "ann": agent}))
        job = client.submit(collab("bob", "ann"), stop={"max_turns": 2})
        reader = Reader(job.stream())
        with connect(client.redis_url) as redis:
            key = session_key(job.id, "listening")
            until(lambda: redis.exists(key), timeout_s=60, what="the reader is there")
        following.set()
        return reader

    yield start
    gate.set()
    for client in clients:
        client.close()


@pytest.mark.parametrize(
    "agent",
    [
        generator,
        async_generator,
        async_iterator,
        generator_of_prompt,
        writer,
        async_writer,
        Agent(FunctionModel(stream_function=model)),
    ],
    ids=lambda it: getattr(it, "__name__", type(it).__name__),
)
def test_pieces_are_seen_before_the_message_is_whole(follow, agent) -> None:
    reader = follow(agent)
    reader.sees(FIRST)
    assert reader.written == ["first"]
    gate.set()
    assert reader.finish() == ["first", FIRST + LAST]


def test_failure_in_the_middle_discards_what_was_shown(follow) -> None:
    def fails_once(turn: TurnContext) -> Iterator[str]:
        if turn.attempt == 1:
            yield "lost"
            gate.wait(patient(60))
            raise RuntimeError("the model went away")
        yield FIRST
        yield LAST

    reader = follow(fails_once)
    reader.sees("lost")
    gate.set()
    assert reader.finish() == ["first", FIRST + LAST]
    assert not any("lost" in it and FIRST in it for it in reader.seen)


def test_half_a_character_is_shown_as_a_question_mark(follow) -> None:
    def broken(turn: TurnContext) -> Iterator[str]:
        yield FIRST + "\ud83d"
        gate.wait(patient(60))
        yield LAST

    reader = follow(broken)
    reader.sees(f"{FIRST}?")
    gate.set()
    assert reader.finish()[0] == "first"


def test_returned_value_replaces_what_was_written(follow) -> None:
    def decides(turn: TurnContext):
        yield FIRST
        return TurnOutcome.say("the outcome")

    gate.set()
    assert follow(decides).finish() == ["first", "the outcome"]


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ([1], "output: must be written as text (got int)"),
        (["x" * 2_000_000], "output: must be at most 1048576 bytes"),
    ],
)
def test_what_is_no_message_fails_the_turn(pieces, reason) -> None:
    with LocalClient({"ann": lambda _: iter(pieces)}) as client:
        result = client.submit(collab("ann"), stop={"max_turns": 1}, policy={"attempts": 1}).result(
            patient(30)
        )
    assert (result.ok, reason in result.detail) == (False, True)
