"""What agents are told of their tasks and conversations: one stream an agent, capped, with a time to live.

Best effort: SQL holds the truth, and an agent that missed something looks there. So nothing is tried twice,
and a Redis that is away is only logged.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import NamedTuple

from redis import Redis
from redis.exceptions import RedisError

from ..models.errors import InvalidInput, StateError
from ..models.tasks.notice import Notice
from .keys import notices_key
from .streams import read_entries

log = logging.getLogger(__name__)

#: Notices an agent's stream keeps, and how long after the newest one.
KEPT = 1_000
KEPT_MS = 7 * 86_400_000
#: Where a stream begins.
BEGINNING = "0"
_CURSOR = re.compile(r"\d{1,20}(-\d{1,20})?")


class Told(NamedTuple):
    """A notice, and the cursor behind it."""

    cursor: str
    notice: Notice


class NoticeBoard:
    """The streams of all agents. The client must decode responses; it should not try again by itself."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def tell(self, agents: Iterable[str], notice: Notice) -> None:
        """Adds a notice to the streams of agents; never raises for Redis being away."""
        text = notice.to_json()
        try:
            pipeline = self._client.pipeline(transaction=False)
            for agent in dict.fromkeys(agents):
                key = notices_key(agent)
                pipeline.xadd(key, {"n": text}, maxlen=KEPT, approximate=True)
                pipeline.pexpire(key, KEPT_MS)
            pipeline.execute()
        except (RedisError, StateError, OSError) as error:
            log.warning("%s of task %s was not told: %s", notice.kind, notice.task_id, error)

    def read(self, agent: str, *, after: str = BEGINNING, limit: int = 100) -> list[Told]:
        """Notices of an agent behind a cursor, oldest first. Raises InvalidInput for a bad cursor, RedisUnavailable."""
        if not _CURSOR.fullmatch(after):
            raise InvalidInput("cursor", after, "must be one that a notice came with, or 0")
        low = "-" if after == BEGINNING else f"({after}"
        entries = read_entries(self._client.xrange(notices_key(agent), min=low, count=limit))
        return [Told(cursor, Notice.model_validate_json(text)) for cursor, text in entries]
