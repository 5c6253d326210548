"""Notifications of agents about tasks and conversations: one capped stream per agent, with a time to live.

Notifications are best effort: the state is in SQL, and an agent that missed a notification reads it there.
Nothing is retried, and an unavailable Redis is only logged.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from redis import Redis
from redis.exceptions import RedisError

from ..models.errors import InvalidInput, StateError
from ..state.redis.keys import notifications_key
from ..state.redis.readers import Unreadable, read_entries, read_record
from .values.task import Notification

log = logging.getLogger(__name__)

#: Maximum notifications in an agent's stream, and milliseconds for which they are kept after the newest one.
KEPT = 1_000
KEPT_MS = 7 * 86_400_000
#: Cursor of the beginning of a stream.
BEGINNING = "0"
_CURSOR = re.compile(r"\d{1,20}(-\d{1,20})?")


class ReceivedNotification(NamedTuple):
    """A notification, and its cursor."""

    cursor: str
    notice: Notification


class NotificationStreams:
    """The streams of all agents. The client must decode responses; it should not retry by itself."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def publish(self, agents: Iterable[str], notice: Notification) -> None:
        """Add a notification to the streams of agents; never raises if Redis is unavailable."""
        text = notice.to_json()
        try:
            pipeline = self._client.pipeline(transaction=False)
            for agent in dict.fromkeys(agents):
                key = notifications_key(agent)
                pipeline.xadd(key, {"n": text}, maxlen=KEPT, approximate=True)
                pipeline.pexpire(key, KEPT_MS)
            pipeline.execute()
        except (RedisError, StateError, OSError) as error:
            log.warning(
                "publishing notification %s of task %s failed: %s", notice.kind, notice.task_id, error
            )

    def read(self, agent: str, *, after: str = BEGINNING, limit: int = 100) -> list[ReceivedNotification]:
        """Return the notifications of an agent after a cursor, oldest first.

        Raises:
            InvalidInput: The cursor is not valid.
            RedisUnavailable: Redis does not answer.
        """
        if not _CURSOR.fullmatch(after):
            raise InvalidInput("cursor", after, "must be the cursor of a notification, or 0")
        low = "-" if after == BEGINNING else f"({after}"
        entries = read_entries(self._client.xrange(notifications_key(agent), min=low, count=limit))
        records = (
            (cursor, read_record("notification", cursor, partial(Notification.model_validate_json, text)))
            for cursor, text in entries
        )
        return [
            ReceivedNotification(cursor, record)
            for cursor, record in records
            if not isinstance(record, Unreadable)
        ]
