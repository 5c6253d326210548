"""Tool events of running turns: one capped stream per session, in its slot, with a time to live.

Each event is written at once, so the end of a call is in the stream before its turn ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass

from redis import Redis
from redis.exceptions import RedisError

from ...models.errors import StateError
from ...models.text.redact import scrub_secrets
from ...models.turns.streaming import ToolEvent, ToolStatus
from ..redis.keys import session_key
from ..sessions.records import Grant
from .deltas import KEPT_MS

log = logging.getLogger(__name__)

#: Approximate maximum of stored events per session.
_MOST_EVENTS = 1_000


@dataclass(frozen=True, slots=True)
class ToolEventWriter:
    """Writer of the tool events of one grant."""

    client: Redis
    session_id: str
    grant: Grant
    participant: str
    #: Texts that events must not contain.
    secrets: Iterable[str] = ()

    async def report_tool(
        self, call: str, tool: str, arguments: str, *, status: ToolStatus, duration_ms: int | None = None
    ) -> None:
        """Write the begin or the end of a call; a Redis outage is only logged."""
        event = ToolEvent(
            turn_number=self.grant.number,
            participant_id=self.participant,
            attempt=self.grant.grants,
            token_id=self.grant.token,
            call_id=call,
            name=tool,
            arguments=scrub_secrets(arguments, tuple(self.secrets)),
            status=status,
            duration_ms=duration_ms,
        )
        try:
            await asyncio.to_thread(self._write, event.model_dump_json(exclude_none=True))
        except (RedisError, StateError) as error:
            log.debug("publishing a tool event of turn %s failed: %s", self.grant.number, error)

    def _write(self, text: str) -> None:
        key = session_key(self.session_id, "tools")
        with self.client.pipeline(transaction=True) as pipe:
            pipe.xadd(key, {"t": text}, maxlen=_MOST_EVENTS, approximate=True)
            pipe.pexpire(key, KEPT_MS)
            pipe.execute()
