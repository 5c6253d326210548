"""Upper bounds of a turn's usage, from the agent's entry: the reservation when the turn begins.

The bound of a model's turn is one request with a full window. Retries of failed requests and of answers of
the wrong form are not included; their usage is counted when the turn closes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from ...models.errors import InvalidInput
from ...models.sessions.limits import Rate, SpendingBounds
from ...models.sessions.options import AgentBinding
from ...models.turns.message_lists import estimate_tokens
from ..llm.entries import LLMEntry, ModelEntry
from ..programs.entry import CommandEntry
from ..remote.entry import ExternalEntry
from .agent_factory import merge_script
from .agents_file import AgentEntry, HumanEntry, PythonEntry, ScriptedEntry

#: Tokens of the prompt of every request without the dialog and the agent's own instructions.
PROMPT_TOKENS = 500

#: Reservation for a turn without a known bound.
DEFAULT_TOKENS = 4_000

NO_SPENDING = SpendingBounds(tokens=0, cost_micros=0)
UNKNOWN_SPENDING = SpendingBounds()


def spending_bound(
    entry: AgentEntry, binding: AgentBinding, model_named: Callable[[str], ModelEntry]
) -> SpendingBounds:
    """Return the most that one turn of a binding may spend; `model_named` returns the entry of a model."""
    match entry:
        case LLMEntry():
            models = [model_named(name) for name in (entry.model, *entry.fallback)]
            return _most_of_models(entry, binding, models)
        case ScriptedEntry():
            return _most_of_script(entry, binding)
        case PythonEntry():
            return UNKNOWN_SPENDING
        case CommandEntry() | HumanEntry() | ExternalEntry():
            return NO_SPENDING
        case _:
            assert_never(entry)


def rate_limit_of(name: str, most: SpendingBounds, model_named: Callable[[str], ModelEntry]) -> Rate | None:
    """Return the rate limit of an agent's model, with the most tokens of one turn; None: no limit."""
    model = model_named(name)
    if model.requests_per_minute is None and model.tokens_per_minute is None:
        return None
    return Rate(
        model=name,
        requests=model.requests_per_minute,
        tokens=model.tokens_per_minute,
        turn_tokens=DEFAULT_TOKENS if most.tokens is None else most.tokens,
    )


def _most_of_models(entry: LLMEntry, binding: AgentBinding, models: list[ModelEntry]) -> SpendingBounds:
    answer = binding.max_tokens or entry.max_tokens
    if answer is None or entry.tools:  # answers and tool calls without a limit
        return UNKNOWN_SPENDING
    instructions = entry.instructions if binding.instructions is None else binding.instructions
    asked = max(entry.context_tokens or model.context_tokens for model in models)
    asked += PROMPT_TOKENS + estimate_tokens(instructions)
    costs = [_cost_micros(model, asked, answer) for model in models]
    return SpendingBounds(
        tokens=asked + answer,
        cost_micros=None if None in costs else max(cost or 0 for cost in costs),
    )


def _cost_micros(model: ModelEntry, asked: int, answer: int) -> int | None:
    """Return the cost by the registry's prices; None: no price (the price list is used after the turn)."""
    if model.input_usd_per_million is None and model.output_usd_per_million is None:
        return None
    dearest = max(model.input_usd_per_million or 0.0, model.cached_usd_per_million or 0.0)
    return round(asked * dearest + answer * (model.output_usd_per_million or 0.0))


def _most_of_script(entry: ScriptedEntry, binding: AgentBinding) -> SpendingBounds:
    try:
        spent = [reply.usage for reply in merge_script(binding, entry).replies]
    except InvalidInput:  # reported when the agent is created
        return UNKNOWN_SPENDING
    return SpendingBounds(
        tokens=max((usage.tokens for usage in spent), default=0),
        cost_micros=max((usage.cost_micros for usage in spent), default=0),
    )
