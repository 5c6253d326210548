"""Tools that registry files in tests name; they write down every call."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic import BaseModel
from pydantic_ai import ModelRetry, RunContext

from symposia.agents.llm.tools import ToolContext
from symposia.models.errors import AgentFailed

#: Calls of this process.
calls: list[tuple[str, str]] = []


class Verdict(BaseModel):
    """What a reviewer found."""

    grade: int
    why: str


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def book(ctx: RunContext[ToolContext], room: str) -> str:
    """Books a room."""
    effect_id, me = ctx.deps.effect_id, ctx.deps.turn.me.participant_id
    calls.append((room, effect_id))
    log = os.environ.get("TOOL_LOG")
    if log:
        with Path(log).open("a") as file:
            file.write(json.dumps({"room": room, "effect_id": effect_id}) + "\n")
    return f"{room} is booked for {me}"


async def picky(room: str) -> str:
    """Books only rooms with short names."""
    if len(room) > 3:
        raise ModelRetry("rooms have short names")
    return f"{room} it is"


def broken() -> str:
    """Always fails."""
    raise LookupError("no such thing")


def leaky() -> str:
    """Fails with a secret in its message."""
    raise ValueError("sent key sk-house-1\nto the house")


def flaky(ctx: RunContext[ToolContext]) -> str:
    """Fails at first."""
    calls.append(("flaky", ctx.deps.effect_id))
    if len(calls) == 1:
        raise TimeoutError
    return "done"


def refusing() -> str:
    """Fails the turn."""
    raise AgentFailed("the house is closed", retryable=False)


not_callable = 7
