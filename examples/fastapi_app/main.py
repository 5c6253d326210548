"""Routes: submit a session, show it live, and answer in the browser."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from uuid import UUID

from celery_app import app as celery_app
from celery_app import settings
from fastapi import Body, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from symposia import AsyncClient, AsyncCollabJob, InvalidInput, MaxRounds, SessionNotFound
from symposia.errors import ReplyRefused

PAGE = Path(__file__).with_name("page.html").read_text()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open one client for the process."""
    async with AsyncClient(settings, app=celery_app) as client:
        app.state.client = client
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/", response_class=HTMLResponse)
async def page() -> str:
    """Show the page, which submits, follows and answers."""
    return PAGE


@app.post("/sessions", status_code=201)
async def submit(request: Request, topic: str = Body(embed=True)) -> dict[str, str]:
    """Submit a session about a topic."""
    collab = {
        "title": "Offer",
        "purpose": topic,
        "mode": "round_robin",
        "participants": [{"participant_id": "writer"}, {"participant_id": "editor"}],
    }
    agents = {"writer": "writer", "editor": "human"}
    job = await request.app.state.client.submit(collab, agents=agents, stop=MaxRounds(1))
    return {"id": job.id}


@app.get("/sessions/{session_id}/events")
async def events(request: Request, session_id: UUID) -> StreamingResponse:
    """Send each message of a session as a server-sent event, until its end."""
    job = await find_job(request, session_id)
    after = request.headers.get("Last-Event-ID")  # of a browser that connects again
    try:
        if after is not None:
            await anext(job.messages(after=after), None)
    except InvalidInput as error:  # after an answer 400, the browser does not connect again
        raise HTTPException(400, str(error)) from None

    async def stream() -> AsyncIterator[str]:
        async with aclosing(job.messages(follow=True, after=after)) as messages:
            async for message in messages:
                data = json.dumps({"speaker": message.speaker, "content": message.content})
                yield f"id: {message.entry_id}\ndata: {data}\n\n"
        yield "event: end\ndata:\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@app.post("/sessions/{session_id}/reply", status_code=204)
async def reply(request: Request, session_id: UUID, text: str = Body(embed=True)) -> None:
    """Answer the open question to the editor."""
    job = await find_job(request, session_id)
    try:
        await job.reply("editor", text)
    except ReplyRefused as error:
        raise HTTPException(409, str(error)) from None


async def find_job(request: Request, session_id: UUID) -> AsyncCollabJob:
    """Return a session, or answer 404."""
    try:
        return await request.app.state.client.get_job(str(session_id))
    except SessionNotFound as error:
        raise HTTPException(404, str(error)) from None
