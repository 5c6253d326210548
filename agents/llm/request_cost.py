"""Limit of an answer in a turn with a cost budget: the request must not cost more than the turn has reserved."""

from __future__ import annotations

from pydantic_ai.models import ModelRequestContext

from ...models.errors import AgentFailed
from ...models.text.words import dollars
from ...models.turns.message_lists import MAX_TOKENS_PER_ESTIMATED, estimate_tokens
from .observing import describe_prompt
from .settings import Price

#: Least limit of an answer: a review without findings is shorter.
_MIN_ANSWER_TOKENS = 200


def affordable_answer(
    request: ModelRequestContext, price: Price, *, left_micros: int, is_first: bool
) -> int | None:
    """Return the answer tokens that the rest of a reservation pays for after a request; None: any number.

    The first request of a turn always has the least answer, because the reservation of its turn includes it.

    Raises:
        AgentFailed: The rest does not pay for the request; not retryable.
    """
    prompt = describe_prompt(request, since=0)
    texts = [
        *(text for _, text in prompt.texts),
        *(tool.model_dump_json() for tool in prompt.tools),
        prompt.form,
    ]
    asked = sum(map(estimate_tokens, texts))
    needed = (
        asked * price.input
        if is_first
        else MAX_TOKENS_PER_ESTIMATED * asked * price.input + _MIN_ANSWER_TOKENS * price.output
    )
    if needed > left_micros:
        rule = f"the cost limit leaves {dollars(left_micros)}, and the next request costs about {dollars(needed)}"
        raise AgentFailed(rule, retryable=False)
    if not price.output:
        return None
    rest = left_micros - MAX_TOKENS_PER_ESTIMATED * asked * price.input
    return max(int(rest / price.output), _MIN_ANSWER_TOKENS)
