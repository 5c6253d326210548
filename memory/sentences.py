"""What was read from the sentence of a session: kept with the session, so that it is read once."""

from __future__ import annotations

from typing import cast

from pydantic import ValidationError
from redis import Redis

from ..models.memory.learned import Learned
from ..state.redis.keys import parsed_key

#: Milliseconds for which it is kept.
KEPT_MS = 7 * 24 * 3_600_000


class ParsedSentences:
    """Parameters read from the sentences of sessions. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def read(self, session_id: str) -> Learned | None:
        """Return what was read; None: nothing yet.

        Raises:
            RedisError, StateError: The server does not answer.
        """
        text = cast("str | None", self._client.get(parsed_key(session_id)))
        try:
            return None if text is None else Learned.model_validate_json(text)
        except ValidationError:
            return None  # the sentence is read again

    def add(self, session_id: str, learned: Learned) -> None:
        """Store what was read; of parallel turns, the first one decides.

        Raises:
            RedisError, StateError: The server does not answer.
        """
        self._client.set(parsed_key(session_id), learned.model_dump_json(), px=KEPT_MS, nx=True)
