"""Mark of the threads and tasks that run an agent, so that they do not wait for another session.

A turn that waits for a session holds a thread of its worker. If all threads wait, no session continues.
"""

from __future__ import annotations

from contextvars import ContextVar

from ...models.context_values import SetInBlock
from ...models.errors import WaitInTurn

_turn: ContextVar[str | None] = ContextVar("symposia_turn", default=None)


def in_turn(session_id: str) -> SetInBlock[str | None]:
    """Mark what runs in the block, and the threads and tasks that it starts, as the turn of a session."""
    return SetInBlock(_turn, session_id)


def refuse_wait_in_turn(session_id: str) -> None:
    """Refuse to wait for the end of a session within a turn.

    Raises:
        WaitInTurn: This code runs in the turn of an agent.
    """
    if _turn.get() is not None:
        raise WaitInTurn(session_id)
