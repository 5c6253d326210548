"""Routes that change a session: its status, people, messages; and new sessions from it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Header, Request, Response
from pydantic import Field, JsonValue

from ...models.attachments import MAX_PER_MESSAGE
from ..answers import SessionData
from ..context import ContextDep, Controller, Submitter, open_job
from ..routing import api_router
from ..submissions import AttachmentBody, Body, check_agents
from .sessions import created_session, session_data

router = api_router("steering")

#: Key with which a repeated request makes its change once.
Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class ReasonBody(Body):
    """Why a session is cancelled."""

    reason: Annotated[str, Field(min_length=1, max_length=1_000)] = "cancelled"


class InstructBody(Body):
    """New instructions of a participant's agent."""

    participant: Name
    text: str


class PostBody(Body):
    """A message from outside."""

    text: str
    role: Literal["user", "system"] = "user"
    attachments: Annotated[tuple[AttachmentBody, ...], Field(max_length=MAX_PER_MESSAGE)] = ()


class ParticipantBody(Body):
    """A participant: its id, or a table of its fields; and its agent."""

    participant: str | dict[str, JsonValue]
    agent: str | dict[str, JsonValue] | None = None


class ContinueBody(Body):
    """The first message of a session that continues one that has ended."""

    text: str
    agents: dict[str, str | dict[str, JsonValue]] | None = None


class ForkBody(Body):
    """Where a session begins again."""

    at_turn: Annotated[int, Field(ge=1, le=10**9)]
    instruct: dict[str, str] | None = None
    agents: dict[str, str | dict[str, JsonValue]] | None = None


@router.post("/sessions/{session_id}/suspend")
async def suspend(session_id: str, context: ContextDep, caller: Controller) -> SessionData:
    """Suspend a session after the turns that run."""
    job = await open_job(context, caller, session_id)
    await job.suspend(by=caller.name)
    return await session_data(context, job)


@router.post("/sessions/{session_id}/resume")
async def resume(session_id: str, context: ContextDep, caller: Controller) -> SessionData:
    """Resume a suspended session."""
    job = await open_job(context, caller, session_id)
    await job.resume(by=caller.name)
    return await session_data(context, job)


@router.post("/sessions/{session_id}/stop")
async def stop(session_id: str, context: ContextDep, caller: Controller) -> SessionData:
    """End a session after the turns that run."""
    job = await open_job(context, caller, session_id)
    await job.stop(by=caller.name)
    return await session_data(context, job)


@router.post("/sessions/{session_id}/activate")
async def activate(session_id: str, context: ContextDep, caller: Submitter) -> SessionData:
    """Start a draft."""
    job = await open_job(context, caller, session_id)
    await job.activate(by=caller.name)
    return await session_data(context, job)


@router.post("/sessions/{session_id}/cancel")
async def cancel(
    session_id: str, context: ContextDep, caller: Controller, body: ReasonBody | None = None
) -> SessionData:
    """Cancel a session at once."""
    job = await open_job(context, caller, session_id)
    await job.cancel((body or ReasonBody()).reason, by=caller.name)
    return await session_data(context, job)


@router.post("/sessions/{session_id}/instruct")
async def instruct(
    session_id: str, body: InstructBody, context: ContextDep, caller: Controller, key: Key = None
) -> SessionData:
    """Replace the instructions of a participant's agent from its next turn on."""
    job = await open_job(context, caller, session_id)
    await job.instruct(body.participant, body.text, by=caller.name, key=key)
    return await session_data(context, job)


@router.post("/sessions/{session_id}/post")
async def post(
    session_id: str, body: PostBody, context: ContextDep, caller: Controller, key: Key = None
) -> SessionData:
    """Post a message from outside. It is written after the turns that run."""
    job = await open_job(context, caller, session_id)
    files = [file.read(f"attachments[{index}]") for index, file in enumerate(body.attachments)]
    await job.post(body.text, role=body.role, by=caller.name, key=key, attachments=files or None)
    return await session_data(context, job)


@router.post("/sessions/{session_id}/participants")
async def add_participant(
    session_id: str, body: ParticipantBody, context: ContextDep, caller: Controller, key: Key = None
) -> SessionData:
    """Add a participant from the next round on."""
    job = await open_job(context, caller, session_id)
    check_agents({"agent": body.agent}, caller)
    await job.add_participant(body.participant, body.agent, by=caller.name, key=key)
    return await session_data(context, job)


@router.delete("/sessions/{session_id}/participants/{name}")
async def remove_participant(
    session_id: str, name: Name, context: ContextDep, caller: Controller, key: Key = None
) -> SessionData:
    """Remove a participant from the next round on."""
    job = await open_job(context, caller, session_id)
    await job.remove_participant(name, by=caller.name, key=key)
    return await session_data(context, job)


@router.post("/sessions/{session_id}/continue", status_code=201)
async def continue_session(
    session_id: str,
    body: ContinueBody,
    context: ContextDep,
    caller: Submitter,
    request: Request,
    response: Response,
) -> SessionData:
    """Continue a session that has ended in a new session of its thread."""
    job = await open_job(context, caller, session_id)
    check_agents(body.agents, caller)
    new = await job.continue_with(body.text, agents=body.agents, owner=caller.name)
    return await created_session(context, new, request, response)


@router.post("/sessions/{session_id}/fork", status_code=201)
async def fork(
    session_id: str,
    body: ForkBody,
    context: ContextDep,
    caller: Submitter,
    request: Request,
    response: Response,
) -> SessionData:
    """Begin a new session with the turns of this one before `at_turn`."""
    job = await open_job(context, caller, session_id)
    check_agents(body.agents, caller)
    new = await job.fork(at_turn=body.at_turn, instruct=body.instruct, agents=body.agents, owner=caller.name)
    return await created_session(context, new, request, response)
