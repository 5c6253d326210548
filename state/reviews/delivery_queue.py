"""Queue of reports to deliver: an index by time like those of sessions, and the newest failed deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ...models.review.deliveries import Errand
from ...models.text.ids import utcnow
from ..redis.clock import server_ms
from ..redis.due_index import Timetable
from ..redis.keys import ERRANDS, ERRANDS_FAILED

#: Maximum number of queued deliveries; if there are more, the last ones are dropped.
MOST = 10_000
#: Maximum number of listed failures, and seconds for which they are kept.
_TOLD, _TOLD_FOR_S = 100, 7 * 86_400


class ErrandIndex(Timetable):
    """Queued deliveries by the time of their next attempt. The client must decode responses."""

    KEY: ClassVar[str] = ERRANDS

    def add(self, errands: Sequence[Errand]) -> None:
        """Add deliveries that are due now; queued ones do not change."""
        now = server_ms(self._client)
        if errands:
            self._client.zadd(ERRANDS, {_text(errand): now for errand in errands}, nx=True)
            self._client.zremrangebyrank(ERRANDS, MOST, -1)

    def has(self, errand: Errand) -> bool:
        """Return whether a delivery is queued."""
        return self._client.zscore(ERRANDS, _text(errand)) is not None

    def settle(self, errand: Errand) -> None:
        """Remove a delivery that is done."""
        self._client.zrem(ERRANDS, _text(errand))

    def soon(self, errand: Errand) -> None:
        """Schedule a delivery in a second, without counting an attempt."""
        self.look_at(_text(errand), server_ms(self._client) + 1_000)

    def later(self, errand: Errand, *, delay_ms: int) -> None:
        """Schedule a failed delivery after `delay_ms`, and count the attempt."""
        again = errand.model_copy(update={"failed": errand.failed + 1})
        due_ms = server_ms(self._client) + delay_ms
        with self._client.pipeline(transaction=True) as both:
            both.zrem(ERRANDS, _text(errand))
            both.zadd(ERRANDS, {_text(again): due_ms})
            both.execute()

    def give_up(self, errand: Errand, why: str) -> None:
        """Give up a delivery, and list it for a week. `why` is one line without secrets."""
        told = f"{utcnow():%Y-%m-%d %H:%M} {errand.to}, review {errand.run}: {why}"
        self._client.lpush(ERRANDS_FAILED, told)
        self._client.ltrim(ERRANDS_FAILED, 0, _TOLD - 1)
        self._client.expire(ERRANDS_FAILED, _TOLD_FOR_S)
        self.settle(errand)

    def waiting(self) -> int:
        """Return the number of queued deliveries."""
        return int(self._client.zcard(ERRANDS))

    def failures(self, *, count: int) -> list[str]:
        """Return the newest deliveries that were given up, one line each."""
        return [str(line) for line in self._client.lrange(ERRANDS_FAILED, 0, count - 1)]


def _text(errand: Errand) -> str:
    return errand.model_dump_json()
