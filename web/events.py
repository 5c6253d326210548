"""The events of a session as server-sent events.

`message` (a stored message), `delta` (the next words of a running turn), `question` (an open question to a person),
`status` (what happened to the session or a turn), and `end`. Stored entries have an `id`, from which a reader continues.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AbstractContextManager, aclosing

from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from pydantic import JsonValue
from starlette.types import Receive, Scope, Send

from ..client.aio.jobs import AsyncCollabJob
from ..client.aio.updates import follow_updates
from ..models.errors import ClientClosed, RedisUnavailable, SessionNotFound
from ..models.identity import Caller
from ..models.protocol.base import Event
from ..models.protocol.events import MapEvent
from ..models.text.json_text import dump_json
from ..models.text.text_cache import cache_texts
from ..models.turns.streaming import Delta
from ..state.redis.readers import read_stored
from ..state.streams.updates import StoredUpdate, UpdateCursor
from .answers import QuestionData, ResultData, message_json
from .context import WebContext, open_job
from .questions import is_asking, open_questions

#: Seconds without an event after which a comment keeps the connection.
KEEPALIVE_S = 15.0
#: Milliseconds after which a browser connects again.
_RETRY_MS = 1_000
#: Fields of events that permit something.
_TOKENS = frozenset({"token_id", "refused_token_id", "reply_token", "token"})


async def session_events(
    context: WebContext, caller: Caller, job: AsyncCollabJob, *, after: UpdateCursor, deltas: bool
) -> AsyncGenerator[bytes, None]:
    """Yield the events of a session until it has ended.

    Without the event `end`, the reader should connect again: the server stops, or Redis does not answer.

    Args:
        context: The context of the server.
        caller: The caller, whose streams are counted.
        job: The session.
        after: Position to start after.
        deltas: Whether the output of running turns is yielded, too.
    """
    yield format_sse_event(retry=_RETRY_MS, comment="symposia")
    try:
        events = _Events(context, job, after=after, deltas=deltas)
        async with aclosing(events.follow()) as pieces:
            async for piece in pieces:
                yield piece
        yield await _end(await open_job(context, caller, job.id))
    except SessionNotFound:  # Redis has dropped it meanwhile: the archive has the rest
        yield format_sse_event(comment="the session has left Redis: connect again")
    except (RedisUnavailable, ClientClosed, StopFollowing):
        yield format_sse_event(comment="interrupted: connect again")


class EventStream(StreamingResponse):
    """The response with server-sent events; it closes what it sends, also when the reader has disconnected.

    Args:
        pieces: The events.
        counted: Context in which they are sent; an error of its begin is the answer.
    """

    media_type = "text/event-stream"

    def __init__(self, pieces: AsyncGenerator[bytes, None], counted: AbstractContextManager[object]) -> None:
        # Proxies must not collect the events.
        super().__init__(pieces, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._pieces = pieces
        self._counted = counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        with self._counted:
            async with aclosing(self._pieces):
                await super().__call__(scope, receive, send)


class StopFollowing(Exception):
    """The server stops."""


class _Events:
    def __init__(
        self, context: WebContext, job: AsyncCollabJob, *, after: UpdateCursor, deltas: bool
    ) -> None:
        self._context = context
        self._job = job
        self._after = after
        self._deltas = deltas
        #: Ids of the questions that were sent.
        self._sent: set[str] = set()

    async def follow(self) -> AsyncGenerator[bytes, None]:
        """Yield all events but the end."""
        written_at = time.monotonic()
        updates = follow_updates(self._job, after=self._after, deltas=self._deltas)
        async with aclosing(updates) as pages:
            async for page in pages:
                if self._context.closing.is_set():
                    raise StopFollowing
                if page:
                    questions = await self._questions(page)
                    # One write, so that the events of a page cost one call of the server.
                    yield b"".join(self._render(update, questions) for update in page)
                    written_at = time.monotonic()
                elif time.monotonic() - written_at >= KEEPALIVE_S:
                    yield KEEPALIVE_COMMENT
                    written_at = time.monotonic()

    async def _questions(self, page: Iterable[StoredUpdate | Delta]) -> Mapping[int, QuestionData]:
        """Return the open questions by turn, if one was asked in a page."""
        if not any(map(is_asking, page)):
            return {}
        questions = await open_questions(self._context, self._job)
        return {question.turn_number: QuestionData.of(question) for question in questions}

    def _render(self, update: StoredUpdate | Delta, questions: Mapping[int, QuestionData]) -> bytes:
        if isinstance(update, Delta):
            return _delta_event(
                update.turn_number, update.participant_id, update.attempt, update.offset, update.text
            )
        cursor = str(update.cursor)
        if update.stream == "dialog":
            text = message_json(update.entry_id, update.text, self._job.id)
            return format_sse_event(event="message", data_str=text, id=cursor)
        status = format_sse_event(event="status", data_str=_status_json(update, self._job.id), id=cursor)
        question = questions.get(_turn_of(update)) if is_asking(update) else None
        if question is None or question.id in self._sent:
            return status
        self._sent.add(question.id)
        # Before the entry with the id: a reader that is disconnected in between gets both again.
        return format_sse_event(event="question", data_str=question.model_dump_json()) + status


async def _end(job: AsyncCollabJob) -> bytes:
    """Return the last event. An unfinished session that only the archive has is over for a follower, too."""
    state = await job.state()
    result = ResultData.of(await job.result()).model_dump(mode="json") if state.is_final else None
    data = {"status": state.status.value, "result": result}
    return format_sse_event(event="end", data_str=dump_json(data))


def _turn_of(update: StoredUpdate) -> int:
    event = read_stored(Event, update.text, session_id="", part="journal")
    number = (event.data or {}).get("turn_number")
    return number if isinstance(number, int) else 0


@cache_texts(maxsize=4_096)
def _delta_event(turn_id: int, speaker: str, attempt: int, offset: int, text: str) -> bytes:
    data = {"turn_id": turn_id, "speaker": speaker, "attempt": attempt, "offset": offset, "text": text}
    return format_sse_event(event="delta", data_str=dump_json(data))


# Followers of a session get the same entries.
@cache_texts(maxsize=4_096)
def _status_json_of(stream: str, text: str, session_id: str) -> str:
    fields: Mapping[str, JsonValue] | None
    if stream == "events":
        event = read_stored(MapEvent, text, session_id=session_id, part="events")
        kind, at, fields = event.event_type.value, event.timestamp, event.payload
    else:
        entry = read_stored(Event, text, session_id=session_id, part="journal")
        kind, at, fields = entry.event_type, entry.timestamp, entry.data
    shown = {name: value for name, value in (fields or {}).items() if name not in _TOKENS}
    return dump_json({"type": kind, "at": at.isoformat(), "data": shown})


def _status_json(update: StoredUpdate, session_id: str) -> str:
    return _status_json_of(update.stream, update.text, session_id)
