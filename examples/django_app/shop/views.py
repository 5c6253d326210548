"""Views: submit a session, show it live, and answer in the browser."""

import json
from contextlib import aclosing
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from shop.celery import app
from symposia import AsyncClient, AsyncCollabJob, InvalidInput, MaxRounds, SessionNotFound
from symposia.errors import ReplyRefused

client = AsyncClient(app=app)  # one for the process and all its event loops


async def submit(request: HttpRequest) -> HttpResponse:
    """Show the form; a POST submits a session about its topic."""
    if request.method != "POST":
        return render(request, "submit.html")
    collab = {
        "title": "Offer",
        "purpose": request.POST["topic"],
        "mode": "round_robin",
        "participants": [{"participant_id": "writer"}, {"participant_id": "editor"}],
    }
    job = await client.submit(collab, agents={"writer": "writer", "editor": "human"}, stop=MaxRounds(1))
    return redirect("page", session_id=job.id)


@require_GET
async def page(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Show a session, which the page follows."""
    return render(request, "session.html", {"session_id": session_id})


@require_GET
async def events(request: HttpRequest, session_id: UUID) -> HttpResponseBase:
    """Send each message of a session as a server-sent event, until its end."""
    job = await find_job(session_id)
    after = request.headers.get("Last-Event-ID")  # of a browser that connects again
    try:
        if after is not None:
            await anext(job.messages(after=after), None)
    except InvalidInput as error:  # after an answer 400, the browser does not connect again
        return HttpResponseBadRequest(str(error), content_type="text/plain")

    async def stream():
        async with aclosing(job.messages(follow=True, after=after)) as messages:
            async for message in messages:
                data = json.dumps({"speaker": message.speaker, "content": message.content})
                yield f"id: {message.entry_id}\ndata: {data}\n\n"
        yield "event: end\ndata:\n\n"

    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(stream(), content_type="text/event-stream", headers=headers)


@require_POST
async def reply(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Answer the open question to the editor."""
    job = await find_job(session_id)
    try:
        await job.reply("editor", request.POST["text"])
    except ReplyRefused as error:
        return HttpResponse(str(error), status=409, content_type="text/plain")
    return HttpResponse(status=204)


async def find_job(session_id: UUID) -> AsyncCollabJob:
    """Return a session, or answer 404."""
    try:
        return await client.get_job(str(session_id))
    except SessionNotFound as error:
        raise Http404(str(error)) from None
