"""Callables that registry files in tests name."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from contextvars import ContextVar

from scaling import patient
from symposia.models.turns.turn import TurnContext, TurnOutcome

mood: ContextVar[str] = ContextVar("mood", default="calm")
running = threading.Semaphore(0)
release = threading.Event()
not_callable = "text"


def greet(turn: TurnContext) -> str:
    return f"hello from {turn.me.participant_id}"


async def greet_later(turn: TurnContext) -> str:
    await asyncio.sleep(0)
    return greet(turn)


def outcome(turn: TurnContext) -> TurnOutcome:
    return TurnOutcome(hand_off="bob")


def nothing(turn: TurnContext) -> None:
    return None


def blank(turn: TurnContext) -> str:
    return "  "


def number(turn: TurnContext) -> int:
    return 7


def half_a_character(turn: TurnContext) -> str:
    return "\ud800"


def wrong(turn: TurnContext) -> str:
    raise LookupError("no such thing")


def stops(turn: TurnContext) -> str:
    raise StopIteration


def leaves(turn: TurnContext) -> str:
    raise SystemExit(2)


def thread_name(turn: TurnContext) -> str:
    return threading.current_thread().name


def say_mood(turn: TurnContext) -> str:
    return mood.get()


def wait_for_release(turn: TurnContext) -> str:
    running.release()
    release.wait(patient(30))
    return "released"


def ask_ben_when_released(turn: TurnContext) -> str:
    wait_for_release(turn)
    return "ASK ben: May I?"


def sleepy(turn: TurnContext) -> str:
    time.sleep(0.01)
    return "awake"


class Greeter:
    async def __call__(self, turn: TurnContext) -> str:
        return greet(turn)

    def method(self, turn: TurnContext) -> str:
        return greet(turn)


greeter = Greeter()
partly = functools.partial(greet_later)


#: Set by a test: how many callers have to be there before any of them goes on.
BARRIER = threading.Barrier(1)


def meet(_turn):
    """Waits until as many callers are there as the barrier asks for."""
    BARRIER.wait(patient(30))
    return "met"
