"""Views: submit a session, show it live, and answer in the browser."""

import json
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from shop.celery import app
from symposia import AsyncClient, MaxRounds
from symposia.errors import SymposiaError

client = AsyncClient(app=app)  # one for the process, in whatever event loop


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
async def events(_request: HttpRequest, session_id: UUID) -> StreamingHttpResponse:
    """Send each message of a session as a server-sent event, until its end."""
    job = await client.get_job(str(session_id))

    async def stream():
        async for message in job.messages(follow=True):
            data = json.dumps({"speaker": message.speaker, "content": message.content})
            yield f"data: {data}\n\n"
        yield "event: end\ndata:\n\n"

    return StreamingHttpResponse(stream(), content_type="text/event-stream")


@require_POST
async def reply(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Answer the open question to the editor."""
    job = await client.get_job(str(session_id))
    try:
        await job.reply("editor", request.POST["text"])
    except SymposiaError as error:
        return HttpResponse(str(error), status=409, content_type="text/plain")
    return HttpResponse(status=204)
