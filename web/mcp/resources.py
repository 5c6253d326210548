"""Resources: transcripts and results of sessions, the open questions, and reports of reviews."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable

from mcp import types
from mcp.shared.exceptions import MCPError

from ...client.aio.jobs import AsyncCollabJob
from ...models.errors import ArchiveError, ReviewNotFound, SessionNotFound
from ...models.identity import Caller, Scope
from ...models.protocol.dialog import Message
from ...models.text.json_text import dump_json
from ...reviews.reports.formats import format_of_ending, formats, render
from ..context import WebContext, open_job
from .arguments import ListArguments
from .listing import list_inbox, list_sessions
from .results import read_result

#: Newest sessions, and newest reviews, in the list of resources.
_SESSIONS, _REVIEWS = 20, 20
#: Maximum characters of a transcript.
_MAX_TRANSCRIPT = 2_000_000
_INBOX = "symposia://inbox"
_SESSION = re.compile(r"symposia://sessions/(?P<id>[0-9a-f-]{36})/(?P<part>transcript|result)")
_REPORT = re.compile(r"symposia://reviews/(?P<id>[0-9a-f-]{36})/report\.(?P<format>[a-z0-9]{1,20})")
_MARKDOWN, _JSON = "text/markdown", "application/json"


def transcript_link(session_id: str) -> types.ResourceLink:
    """Return a link to the transcript of a session, for the result of a tool."""
    return types.ResourceLink(
        type="resource_link",
        name="transcript",
        uri=_session_uri(session_id, "transcript"),
        mime_type=_MARKDOWN,
    )


def _session_uri(session_id: str, part: str) -> str:
    return f"symposia://sessions/{session_id}/{part}"


def resource_templates() -> list[types.ResourceTemplate]:
    """Return the forms of the URIs."""
    names = ", ".join(report.name for report in formats() if report.render is not None)
    return [
        types.ResourceTemplate(
            name="transcript",
            title="Transcript of a session",
            uri_template=_session_uri("{session_id}", "transcript"),
            mime_type=_MARKDOWN,
        ),
        types.ResourceTemplate(
            name="result",
            title="Result of a session, or its state",
            uri_template=_session_uri("{session_id}", "result"),
            mime_type=_JSON,
        ),
        types.ResourceTemplate(
            name="report",
            title="Report of a review",
            description=f"Formats: {names}.",
            uri_template="symposia://reviews/{review_id}/report.{format}",
        ),
    ]


async def list_resources(context: WebContext, caller: Caller) -> list[types.Resource]:
    """Return the inbox, and the newest sessions and reviews that a caller sees."""
    caller.require(Scope.READ)
    inbox = types.Resource(name="inbox", title="Open questions to people", uri=_INBOX, mime_type=_JSON)
    page = await list_sessions(context, caller, ListArguments(limit=_SESSIONS))
    sessions = [
        types.Resource(
            name=f"transcript-{session.session_id[:8]}",
            title=f"{session.title} ({session.status})",
            uri=_session_uri(session.session_id, "transcript"),
            mime_type=_MARKDOWN,
        )
        for session in page.sessions
    ]
    return [inbox, *sessions, *[resource async for resource in _reports(context, caller)]]


async def _reports(context: WebContext, caller: Caller) -> AsyncGenerator[types.Resource, None]:
    """Yield the newest reviews. A review belongs to no tenant."""
    if caller.tenant is not None:
        return
    try:
        page = await context.client.reviews(limit=_REVIEWS)
    except ArchiveError:  # sessions are listed without it
        return
    for review in page.items:
        yield types.Resource(
            name=f"report-{review.id[:8]}",
            title=f"Review of {review.root_name} ({review.panel}, {review.state})",
            uri=f"symposia://reviews/{review.id}/report.markdown",
            mime_type=_MARKDOWN,
        )


async def read_resource(context: WebContext, caller: Caller, uri: str) -> types.TextResourceContents:
    """Return the content of a resource.

    Raises:
        MCPError: No resource has this URI.
        SymposiaError: It cannot be read.
    """
    caller.require(Scope.READ)
    if uri == _INBOX:
        questions = [question.model_dump(mode="json") for question in await list_inbox(context, caller)]
        return types.TextResourceContents(uri=uri, mime_type=_JSON, text=dump_json(questions))
    try:
        if (session := _SESSION.fullmatch(uri)) is not None:
            job = await open_job(context, caller, session["id"])
            if session["part"] == "result":
                text = (await read_result(context, job)).model_dump_json()
                return types.TextResourceContents(uri=uri, mime_type=_JSON, text=text)
            return types.TextResourceContents(uri=uri, mime_type=_MARKDOWN, text=await _transcript(job))
        if (report := _REPORT.fullmatch(uri)) is not None and caller.tenant is None:
            return await _report(context, uri, report["id"], report["format"])
    except (SessionNotFound, ReviewNotFound):
        pass
    raise MCPError(types.INVALID_PARAMS, "resource not found", {"uri": uri[:500]})


async def _report(context: WebContext, uri: str, review_id: str, name: str) -> types.TextResourceContents:
    form = format_of_ending(name)
    review = await context.client.get_review(review_id)
    run = await review.run()
    text = await context.client.run(render, run, form)
    return types.TextResourceContents(uri=uri, mime_type=form.media_type, text=text)


async def _transcript(job: AsyncCollabJob) -> str:
    """Return the dialog as Markdown: an alignment document if the session keeps one."""
    if (await job.spec()).protocol is not None:
        return await job.transcript()
    collab = await job.collab()
    lines = [f"# {collab.title}", "", collab.purpose, ""]
    text = "\n".join([*lines, *_message_lines((await job.dialog()).messages)])
    return text if len(text) <= _MAX_TRANSCRIPT else f"{text[:_MAX_TRANSCRIPT]}\n\n(The rest is left out.)"


def _message_lines(messages: Iterable[Message]) -> Iterable[str]:
    for message in messages:
        turn = "" if message.turn_number is None else f" (turn {message.turn_number})"
        yield f"**{message.author or message.role.value}**{turn}:"
        yield from ("", message.content, "")
