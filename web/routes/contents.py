"""Routes of what a session contains: turns, transcript, attachments, people."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import JsonValue

from ...client.aio.jobs import blocking_job
from ...jobs.attachments import find_attachment
from ...jobs.collab import CollabJob
from ...models.attachments import Attachment
from ...models.errors import AttachmentUnavailable
from ...tasks.sessions.task_tree import read_tree
from ..answers import Answer
from ..context import ContextDep, Reader, open_job
from ..routing import api_router

router = api_router("sessions")


class TurnRow(Answer):
    """An attempt at a turn."""

    turn_id: int
    participant: str
    attempt: int
    #: `speaking` while it runs; `message`, `passed`, `skipped`, `failed`, `expired`, `dropped`, `cancelled`, `asked` or
    #: `reassigned`.
    outcome: str
    tokens: int
    error: str


class TurnPage(Answer):
    """A page of attempts at turns, in the order in which they began."""

    items: list[TurnRow]
    next_cursor: str | None


@router.get("/sessions/{session_id}/turns")
async def get_turns(
    session_id: str,
    context: ContextDep,
    caller: Reader,
    cursor: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=100)] = 100,
) -> TurnPage:
    """List the turns of a session with their attempts."""
    job = blocking_job(await open_job(context, caller, session_id))
    nodes = (await context.client.run(lambda: read_tree(job.events()))).nodes
    rows = [
        TurnRow(
            turn_id=node.turn,
            participant=node.participant,
            attempt=node.attempt,
            outcome=node.outcome.value,
            tokens=node.tokens,
            error=node.error,
        )
        for node in nodes[cursor : cursor + limit]
    ]
    last = cursor + limit
    return TurnPage(items=rows, next_cursor=str(last) if len(nodes) > last else None)


@router.get("/sessions/{session_id}/transcript", response_class=PlainTextResponse)
async def get_transcript(session_id: str, context: ContextDep, caller: Reader) -> PlainTextResponse:
    """Return the dialog as an alignment document."""
    return PlainTextResponse(await (await open_job(context, caller, session_id)).transcript())


@router.get("/sessions/{session_id}/usage")
async def get_usage(session_id: str, context: ContextDep, caller: Reader) -> list[dict[str, JsonValue]]:
    """Return the usage of a session by participant and agent."""
    return (await (await open_job(context, caller, session_id)).usage()).to_rows()


@router.get("/sessions/{session_id}/attachments")
async def get_attachments(session_id: str, context: ContextDep, caller: Reader) -> list[Attachment]:
    """List the files of the messages."""
    return list(await (await open_job(context, caller, session_id)).attachments())


@router.get(
    "/sessions/{session_id}/attachments/{wanted}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The bytes of the file."}},
)
async def get_attachment(session_id: str, wanted: str, context: ContextDep, caller: Reader) -> Response:
    """Return a file by its name or its SHA-256 digest, always as a download."""
    job = await open_job(context, caller, session_id)
    attachment, data = await context.client.run(_read, blocking_job(job), wanted)
    return download(data, attachment.name, attachment.media_type)


def _read(job: CollabJob, wanted: str) -> tuple[Attachment, bytes]:
    attachment = find_attachment(job.attachments(), wanted)
    if attachment is None:
        raise AttachmentUnavailable(wanted, why=f"no message of session {job.id} has it")
    return attachment, job.attachment_data(attachment)


def download(data: bytes, name: str, media_type: str) -> Response:
    """Return a file that a browser saves, and neither shows nor runs."""
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cache-Control": "no-store",
    }
    return Response(data, media_type=media_type, headers=headers)
