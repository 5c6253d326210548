"""Live text and tool events of running turns: two capped streams per session, in its slot, with a time to live.

They are streams and no channels, so a reader that connects late or again reads the output from the
beginning of the turn. One thread per process sends the collected words at most ten times a second, so a
model with a hundred tokens a second causes ten small writes. Words may be lost, because the final message
contains all of them.

Streaming a model's answer costs a worker about 0.3 ms of CPU per word; for an answer of 400 words this is
thirteen times the cost of reading it at once. So answers are streamed only while a reader is registered, by
a key in the session's slot.

Each tool event is written at once, so the end of a call is in the stream before its turn ends.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from redis import Redis
from redis.exceptions import RedisError

from ...models.errors import ClientClosed, StateError
from ...models.text.redact import scrub_secrets
from ...models.turns.streaming import Delta, ToolEvent, ToolStatus
from ..redis.keys import session_key
from ..sessions.records import Grant

log = logging.getLogger(__name__)

#: Seconds between two writes.
EVERY_S = 0.1
#: Approximate maximum of stored deltas per session: five minutes of one turn, or half a minute of ten.
MAX_PIECES = 3_000
#: Milliseconds for which a session's deltas are kept after the newest one.
KEPT_MS = 600_000
#: Maximum characters of one turn that are published.
MAX_CHARACTERS = 1_000_000
#: Milliseconds until a registration expires, and seconds between two renewals.
LISTENING_MS = 60_000
LISTENING_EVERY_S = 10.0


class ListenerRegistration:
    """Registration of a reader that wants live text."""

    def __init__(self, client: Redis, session_id: str) -> None:
        self._client = client
        self._key = session_key(session_id, "listening")
        self._next = 0.0

    def refresh(self) -> None:
        """Renew the registration, unless it was renewed recently.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        now = time.monotonic()
        if now >= self._next:
            self._client.set(self._key, 1, px=LISTENING_MS)
            self._next = now + LISTENING_EVERY_S


class DeltaWriter:
    """Live output of one grant, for its readers. Its methods may be called from any thread."""

    def __init__(self, publisher: DeltaPublisher, session_id: str, grant: Grant, participant: str) -> None:
        self.key = session_key(session_id, "deltas")
        self._publisher = publisher
        self._grant = grant
        self._participant = participant
        self._lock = threading.Lock()
        self._pending: list[str] = []
        self._sent = 0

    def restart_output(self) -> None:
        """Discard the output so far: it will not be written."""
        with self._lock:
            self._pending.clear()
            self._sent = 0

    def add_output(self, text: str) -> None:
        """Add words."""
        with self._lock:
            if text and self._sent < MAX_CHARACTERS:
                self._pending.append(text)
        self._publisher.mark_pending(self)

    def take(self) -> Delta | None:
        """Return the words added since the last call; None: there are none."""
        with self._lock:
            if not self._pending:
                return None
            delta = Delta(
                turn_number=self._grant.number,
                participant_id=self._participant,
                attempt=self._grant.grants,
                token_id=self._grant.token,
                offset=self._sent,
                text="".join(self._pending),
            )
            self._pending.clear()
            self._sent += len(delta.text)
            return delta


class DeltaPublisher:
    """Publisher of the live text of all turns of a process; its thread starts with the first turn."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._heard: set[DeltaWriter] = set()
        self._has_pending = threading.Event()
        self._thread: threading.Thread | None = None

    def writer(self, session_id: str, grant: Grant, participant: str) -> DeltaWriter | None:
        """Return a writer for the output of one grant; None: no reader was registered when it began."""
        return DeltaWriter(self, session_id, grant, participant) if grant.has_reader else None

    def mark_pending(self, writer: DeltaWriter) -> None:
        """Record that a writer has something to send."""
        with self._lock:
            self._heard.add(writer)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="symposia-deltas", daemon=True)
                self._thread.start()
        self._has_pending.set()

    def _run(self) -> None:
        """Send what is pending, until the client is closed."""
        while True:
            self._has_pending.wait()
            self._has_pending.clear()
            with self._lock:
                heard, self._heard = self._heard, set()
            try:
                for writer in heard:
                    delta = writer.take()
                    if delta is not None:
                        self._send(writer.key, delta)
            except ClientClosed:
                return
            time.sleep(EVERY_S)

    def _send(self, key: str, delta: Delta) -> None:
        try:
            with self._client.pipeline(transaction=True) as pipe:
                pipe.xadd(key, {"d": delta.model_dump_json()}, maxlen=MAX_PIECES, approximate=True)
                pipe.pexpire(key, KEPT_MS)
                pipe.execute()
        except (RedisError, StateError) as error:
            log.debug("publishing output of turn %s failed: %s", delta.turn_number, error)


#: Approximate maximum of stored events per session.
_MAX_EVENTS = 1_000


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
            pipe.xadd(key, {"t": text}, maxlen=_MAX_EVENTS, approximate=True)
            pipe.pexpire(key, KEPT_MS)
            pipe.execute()
