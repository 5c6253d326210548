"""Guards that are Python callables, run as agents are: with a deadline, sync ones in a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ...models.errors import BadOutcome
from ...models.text.redact import excerpt
from ...models.turns.turn import TurnContext, TurnOutcome
from ..execution.threads import DaemonThreadPool
from ..python import PythonAgent, load_callable

#: Called with the turn, and the outcome or None before the turn; returns a reason, or None.
GuardCallable = Callable[[TurnContext, TurnOutcome | None], object]


def callable_check(path: str, outcome: TurnOutcome | None, *, threads: DaemonThreadPool) -> PythonAgent:
    """Return an agent that says the reason why `outcome` is refused, or passes.

    Raises:
        AgentError: The callable cannot be imported.
    """
    check = cast("GuardCallable", cast("Any", load_callable(path)))
    return PythonAgent(lambda turn: check(turn, outcome), threads=threads)


def read_reason(guard: str, answer: TurnOutcome) -> str | None:
    """Return the reason that a callable guard gave; None: it approved.

    Raises:
        BadOutcome: It returned neither text nor None.
    """
    said = "\n".join(draft.content for draft in answer.messages)
    if answer == TurnOutcome.skip_turn():
        return None
    if not said or answer != TurnOutcome.say(said):
        raise BadOutcome(f"guard {guard!r}: must return the reason as text, or None")
    return excerpt(said, 500)
