"""What a tool may know of the turn it is called in.

from pydantic_ai import RunContext
from symposia.agents.llm.tool_context import ToolDesk

def book_room(ctx: RunContext[ToolDesk], name: str) -> str:
    return rooms.book(name, idempotency_key=ctx.deps.effect_id)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from ...models.turns.turn import TurnContext

_effect_id: ContextVar[str] = ContextVar("effect_id")


@dataclass(frozen=True, slots=True)
class ToolContext:
    """`ctx.deps` of every tool."""

    #: The turn in which the model speaks.
    turn: TurnContext

    @property
    def effect_id(self) -> str:
        """The same for this very call in every attempt of the turn: lets an outside effect be done once."""
        return _effect_id.get()


@contextmanager
def use_effect_id(effect_id: str) -> Iterator[None]:
    """Names the call that is made within the block."""
    token = _effect_id.set(effect_id)
    try:
        yield
    finally:
        _effect_id.reset(token)
