"""Routes of one session: submit, read, follow."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Annotated

from fastapi import Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from ...client.aio.client import submit_read
from ...client.aio.jobs import AsyncCollabJob, blocking_job
from ...jobs.collab import CollabJob
from ...jobs.reading import dialog_cursor, facts_of, streams_of
from ...models.errors import LifecycleError, ResultTimeout, SessionNotFound
from ...models.identity import Caller
from ...state.redis.readers import read_message
from ...state.streams.updates import UpdateCursor
from ..answers import MessageData, ResultData, SessionData, read_session
from ..context import ContextDep, Reader, Submitter, WebContext, open_job
from ..events import EventStream, session_events
from ..routing import api_router
from ..submissions import SubmissionBody, read_body

router = api_router("sessions")

#: Maximum seconds that a request for a result waits.
MAX_WAIT_S = 60


async def session_data(context: WebContext, job: AsyncCollabJob) -> SessionData:
    """Return a session as it is now."""
    return await context.client.run(read_session, blocking_job(job))


@router.post("/sessions", status_code=201, responses={200: {"model": SessionData}})
async def submit(
    body: SubmissionBody, context: ContextDep, caller: Submitter, request: Request, response: Response
) -> SessionData:
    """Submit a session: a session file of the server by name, or an inline session document.

    The same `collab_id` with the same content again answers 200 with the session that exists.
    """
    submission = await context.client.run(read_body, body, caller, context.settings)
    if submission.continues is not None:
        await open_job(context, caller, submission.continues)
    if body.collab_id is not None and await _exists(context, caller, body.collab_id):
        response.status_code = 200
    return await created_session(context, await submit_read(context.client, submission), request, response)


async def created_session(
    context: WebContext, job: AsyncCollabJob, request: Request, response: Response
) -> SessionData:
    """Return a new session, and name it in the header `Location`."""
    response.headers["Location"] = request.url_for("get_session", session_id=job.id).path
    opened = facts_of(blocking_job(job)).opened
    return await session_data(context, job) if opened is None else read_session(blocking_job(job), opened)


async def _exists(context: WebContext, caller: Caller, session_id: str) -> bool:
    try:
        await open_job(context, caller, session_id)
    except SessionNotFound:
        return False
    return True


@router.get("/sessions/{session_id}", responses={304: {"description": "Not changed."}})
async def get_session(
    session_id: str,
    context: ContextDep,
    caller: Reader,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Return a session, with an ETag."""
    data = await session_data(context, await open_job(context, caller, session_id))
    return with_etag(data.model_dump_json(), if_none_match)


def with_etag(text: str, if_none_match: str | None) -> Response:
    """Return JSON with its ETag, or 304 if the caller has it."""
    etag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    known = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    if etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(text, media_type="application/json", headers=headers)


@router.get("/sessions/{session_id}/messages")
async def get_messages(
    session_id: str,
    context: ContextDep,
    caller: Reader,
    after: str | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 100,
) -> list[MessageData]:
    """Return messages, oldest first, after the message with the id `after`."""
    job = await open_job(context, caller, session_id)
    return await context.client.run(_read_messages, blocking_job(job), after, limit)


def _read_messages(job: CollabJob, after: str | None, limit: int) -> list[MessageData]:
    cursor, messages = dialog_cursor(job, after), []
    for entry in streams_of(job).all(job.id, "dialog", after=cursor):
        messages.append(MessageData.of(read_message(entry, job.id)))
        if len(messages) == limit:
            break
    return messages


@router.get(
    "/sessions/{session_id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Server-sent events."}},
)
async def get_events(
    session_id: str,
    context: ContextDep,
    caller: Reader,
    after: str | None = None,
    deltas: bool = True,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Follow a session from its beginning, or after an event, until it has ended.

    Args:
        session_id: The session.
        context: The context of the server.
        caller: The caller.
        after: `id` of an event, or of a message.
        deltas: Whether the output of running turns is sent, too.
        last_event_id: `id` of an event; it comes before `after`.
    """
    job = await open_job(context, caller, session_id)
    cursor = UpdateCursor()
    if last_event_id:
        cursor = UpdateCursor.read(last_event_id, field="Last-Event-ID")
    elif after:
        cursor = UpdateCursor.read(after, field="after")

    pieces = session_events(context, caller, job, after=cursor, deltas=deltas)
    return EventStream(pieces, context.limits.stream(caller))


@router.get("/sessions/{session_id}/result")
async def get_result(
    session_id: str,
    context: ContextDep,
    caller: Reader,
    wait: Annotated[float, Query(ge=0, le=MAX_WAIT_S)] = 0,
) -> ResultData:
    """Return how a session ended. Before its end, answer 409 after `wait` seconds."""
    job = await open_job(context, caller, session_id)
    if wait and job.is_live:
        with suppress(ResultTimeout):
            return ResultData.of(await job.result(timeout=wait))
    state = await job.state()
    if not state.is_final:
        raise LifecycleError(f"session {session_id!r} has not ended ({state.status.value})")
    return ResultData.of(await job.result())
