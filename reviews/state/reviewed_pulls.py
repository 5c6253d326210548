"""Pull requests that a schedule has reviewed, and the batches of one of its runs.

They expire: then an open pull request is reviewed again, of which only changed items cost anything.
"""

from __future__ import annotations

from collections.abc import Collection
from operator import not_
from typing import Annotated, cast

from pydantic import Field
from redis import Redis

from ...models.text.ids import Id
from ...models.turns.frozen import Frozen
from ...state.redis.keys import review_key, reviewed_pulls_key

#: Seconds after the last change for which the reviewed pull requests of a schedule are kept.
REVIEWED_TTL_S = 90 * 86_400
#: The same for the batches of a run.
_RUN_TTL_S = 7 * 86_400
#: Maximum characters of an error.
MAX_ERROR = 500


class PullReview(Frozen):
    """Review of a pull request at one commit."""

    number: int
    head: str
    #: Its batch; None: it could not start, for the same reason as in the run before.
    batch_id: Id | None = None
    #: Why it could not start, or has failed.
    error: Annotated[str, Field(max_length=MAX_ERROR)] = ""
    #: Number of batches of this commit that have started and failed.
    failures: int = 0


class PullsRun(Frozen):
    """A run of a schedule, which reviews pull requests."""

    reviews: tuple[PullReview, ...] = ()
    #: Number of pull requests that are left for the next run.
    left: int = 0
    #: Whether its start has not ended: the last of the batches may not exist. Left out if not.
    is_starting: bool = Field(default=False, exclude_if=not_)


class ReviewedPulls:
    """Reviewed pull requests in one Redis that decodes responses. All methods raise RedisUnavailable."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def save_run(self, run_id: str, run: PullsRun) -> None:
        """Store the batches of a run."""
        self._client.set(review_key(run_id, "pulls"), run.model_dump_json(), ex=_RUN_TTL_S)

    def run(self, run_id: str) -> PullsRun | None:
        """Return the batches of a run; None: there are none, or they have expired."""
        text = cast("str | None", self._client.get(review_key(run_id, "pulls")))
        return None if text is None else PullsRun.model_validate_json(text)

    def last(self, schedule: str) -> dict[int, PullReview]:
        """Return the last review of each pull request, by number."""
        fields = cast("dict[str, str]", self._client.hgetall(reviewed_pulls_key(schedule)))
        return {int(number): PullReview.model_validate_json(text) for number, text in fields.items()}

    def remember(self, schedule: str, reviews: Collection[PullReview], *, closed: Collection[int]) -> None:
        """Store the last reviews of pull requests, and forget closed ones."""
        key = reviewed_pulls_key(schedule)
        with self._client.pipeline(transaction=True) as together:
            if closed:
                together.hdel(key, *map(str, closed))
            if reviews:
                together.hset(key, mapping={str(it.number): it.model_dump_json() for it in reviews})
            together.expire(key, REVIEWED_TTL_S)
            together.execute()
