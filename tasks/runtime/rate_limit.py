"""Rate limit of models: requests per minute and provider, shared by all workers.

A turn's first model is checked before the turn begins (`admission.py`); fallback models are checked when
they are needed, through the services of their agent.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from redis import Redis
from redis.exceptions import RedisError

from ...models.errors import StateError
from ...models.sessions.limits import Rate
from ...state.limits.rates import Permit, RateLimiter

log = logging.getLogger(__name__)

#: Maximum seconds a turn waits in a worker for the rate limit of its model.
MOST_WAIT_S = 1.0

#: Returns the limits of a model of the registry; None: it has none.
RateOf = Callable[[str], Rate | None]


def wait_for_permit(rates: RateLimiter, rate: Rate) -> Permit | int:
    """Wait a short time for a permit; return it, or the milliseconds after which to try again."""
    deadline = time.monotonic() + MOST_WAIT_S
    while isinstance(answer := rates.admit(rate), int) and time.monotonic() + answer / 1000 <= deadline:
        time.sleep(answer / 1000)
    return answer


class ModelRateLimiter:
    """Rate limits of an agent's fallback models: part of the agent's turn services.

    Args:
        client: a client that decodes responses.
        rate_of: the registry's limits.
    """

    def __init__(self, client: Redis, rate_of: RateOf) -> None:
        self._rates = RateLimiter(client)
        self._rate_of = rate_of

    async def acquire_request(self, model: str) -> float | None:
        """As in Minutes. Without Redis nothing is counted, and the model may be called."""
        rate = self._rate_of(model)
        if rate is None:
            return None
        try:
            answer = await asyncio.to_thread(wait_for_permit, self._rates, rate)
        except (RedisError, StateError) as error:
            log.warning("counting a request to %s for the rate limit failed: %s", model, error)
            return None
        return answer / 1000 if isinstance(answer, int) else None
