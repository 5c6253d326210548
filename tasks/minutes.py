"""Whether a model may be asked now: its provider's minute, which all workers share.

A turn's first model is asked for before the turn begins (`admission.py`); those it falls back on
when they are needed, from the desk of their agent.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from redis import Redis
from redis.exceptions import RedisError

from ..models.errors import StateError
from ..models.limits import Rate
from ..state.rates import Permit, RateBook

log = logging.getLogger(__name__)

#: Seconds a turn waits in a worker for its model's turn.
MOST_WAIT_S = 1.0

#: The limits of a model of the registry; None: it has none.
RateOf = Callable[[str], Rate | None]


def permit(rates: RateBook, rate: Rate) -> Permit | int:
    """Waits for the model's turn, but only a moment; then, in how many milliseconds to come back."""
    deadline = time.monotonic() + MOST_WAIT_S
    while isinstance(answer := rates.admit(rate), int) and time.monotonic() + answer / 1000 <= deadline:
        time.sleep(answer / 1000)
    return answer


class ModelMinutes:
    """The minutes of the models that an agent falls back on: the port on its desk.

    Args:
        client: decodes responses.
        rate_of: the registry's limits.
    """

    def __init__(self, client: Redis, rate_of: RateOf) -> None:
        self._rates = RateBook(client)
        self._rate_of = rate_of

    async def ask(self, model: str) -> float | None:
        """As in Minutes. Without Redis nothing is counted, and the model is asked."""
        rate = self._rate_of(model)
        if rate is None:
            return None
        try:
            answer = await asyncio.to_thread(permit, self._rates, rate)
        except (RedisError, StateError) as error:
            log.warning("a request to %s is not counted: %s", model, error)
            return None
        return answer / 1000 if isinstance(answer, int) else None
