"""Reports that are still to be delivered: an index by time like those of sessions, and the newest that never arrived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..models.ids import utcnow
from ..models.review.errands import Errand
from .clock import server_ms
from .keys import ERRANDS, ERRANDS_FAILED
from .timetable import Timetable

#: Errands that may wait; of more, the last are dropped.
MOST = 10_000
#: Failures that are told, and seconds for which the newest is.
_TOLD, _TOLD_FOR_S = 100, 7 * 86_400


class ErrandIndex(Timetable):
    """Errands by the time of their next try. The client must decode responses."""

    KEY: ClassVar[str] = ERRANDS

    def add(self, errands: Sequence[Errand]) -> None:
        """Enters errands to be done now; those that wait already stay as they are."""
        now = server_ms(self._client)
        if errands:
            self._client.zadd(ERRANDS, {_text(errand): now for errand in errands}, nx=True)
            self._client.zremrangebyrank(ERRANDS, MOST, -1)

    def has(self, errand: Errand) -> bool:
        """Whether it is still to be done."""
        return self._client.zscore(ERRANDS, _text(errand)) is not None

    def settle(self, errand: Errand) -> None:
        """Nothing is left to do."""
        self._client.zrem(ERRANDS, _text(errand))

    def soon(self, errand: Errand) -> None:
        """It is tried again in a second, as if it had not been."""
        self.look_at(_text(errand), server_ms(self._client) + 1_000)

    def later(self, errand: Errand, *, delay_ms: int) -> None:
        """It has failed once more, and is tried again after `delay_ms`."""
        again = errand.model_copy(update={"failed": errand.failed + 1})
        due_ms = server_ms(self._client) + delay_ms
        with self._client.pipeline(transaction=True) as both:
            both.zrem(ERRANDS, _text(errand))
            both.zadd(ERRANDS, {_text(again): due_ms})
            both.execute()

    def give_up(self, errand: Errand, why: str) -> None:
        """It is not tried again, and told for a week. `why` is one line without secrets."""
        told = f"{utcnow():%Y-%m-%d %H:%M} {errand.to}, review {errand.run}: {why}"
        self._client.lpush(ERRANDS_FAILED, told)
        self._client.ltrim(ERRANDS_FAILED, 0, _TOLD - 1)
        self._client.expire(ERRANDS_FAILED, _TOLD_FOR_S)
        self.settle(errand)

    def waiting(self) -> int:
        """How many are still to be done."""
        return int(self._client.zcard(ERRANDS))

    def failures(self, *, count: int) -> list[str]:
        """The newest that were given up, a line each."""
        return [str(line) for line in self._client.lrange(ERRANDS_FAILED, 0, count - 1)]


def _text(errand: Errand) -> str:
    return errand.model_dump_json()
