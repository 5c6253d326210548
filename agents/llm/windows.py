"""Size of a model's window, and the part of it that a dialog may fill. Pure."""

from __future__ import annotations

from functools import lru_cache

from ...models.turns.message_lists import estimate_tokens
from ..tables import DEFAULT_CONTEXT_TOKENS, ModelEntry

#: Maximum tokens of a dialog in a model's own window.
MAX_DIALOG_TOKENS = 200_000
#: Tokens kept free for an answer without a limit, at most a quarter of the window.
_ANSWER_TOKENS = 16_000
#: Windows that the price list lacks, by the beginning of the model's name. As of November 2026.
_FAMILIES = {"gemini-": 1_000_000}


def own_dialog_tokens(model: ModelEntry, *, max_tokens: int | None, instructions: str) -> int | None:
    """Return the tokens of a dialog that the model's own window holds; None: the window is unknown.

    Args:
        model: The model. A server with its own URL may have a smaller window than its model.
        max_tokens: Limit of an answer; None: no limit.
        instructions: Instructions of the agent.
    """
    window = None if model.base_url else model_window(model.model)
    if window is None:
        return None
    window = min(window, MAX_DIALOG_TOKENS)
    answer = max_tokens or min(_ANSWER_TOKENS, window // 4)
    # A twentieth is for tools, the other prompts, and the error of the estimates.
    room = window - answer - estimate_tokens(instructions) - window // 20
    return max(room, min(DEFAULT_CONTEXT_TOKENS, window // 4))


@lru_cache(maxsize=1_024)
def model_window(model: str) -> int | None:
    """Return the window in tokens of a `provider:model`; None: it is unknown."""
    from genai_prices.data_snapshot import get_snapshot

    provider, _, name = model.partition(":")
    for provider_id in (provider, None):
        try:
            _, info = get_snapshot().find_provider_model(name, None, provider_id, None)
        except LookupError:
            continue
        if info.context_window:
            return info.context_window
    return next((window for family, window in _FAMILIES.items() if name.startswith(family)), None)
