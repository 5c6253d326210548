"""Tools of the tests of approvals; they write down every call."""

from __future__ import annotations

from pydantic_ai import ModelRetry, RunContext

from symposia.agents.llm.tools import ToolContext

#: Calls of this process: amount and effect id.
payments: list[tuple[int, str]] = []


def pay(ctx: RunContext[ToolContext], amount: int, note: str = "") -> str:
    """Pays an amount."""
    payments.append((amount, ctx.deps.effect_id))
    return f"paid {amount} {note}".strip()


def haggle(ctx: RunContext[ToolContext], amount: int) -> str:
    """Pays nothing, and asks for a smaller amount."""
    payments.append((amount, ctx.deps.effect_id))
    raise ModelRetry("too much")


def draw(ctx: RunContext[ToolContext], amount: int) -> object:
    """Return a value that is not JSON."""
    payments.append((amount, ctx.deps.effect_id))
    return b"\xff\xfe"


def fail_once(ctx: RunContext[ToolContext], amount: int) -> str:
    """Fail at the first call."""
    payments.append((amount, ctx.deps.effect_id))
    if len(payments) == 1:
        raise LookupError("no connection")
    return f"paid {amount}"
