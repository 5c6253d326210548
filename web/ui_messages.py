"""`POST /ui/NAME`: a session file for chats that read the UI message stream of the AI SDK, such as `useChat`.

Source: UI message stream protocol, version 1, https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from pydantic import BaseModel, ConfigDict, Field

from ..client.aio.jobs import AsyncCollabJob
from ..models.attachments import UNKNOWN_TYPE, Attachment
from ..models.errors import InvalidInput
from ..models.text.ids import derived_id
from ..models.text.json_text import dump_json
from ..state.streams.updates import UpdateCursor
from .bodies import decode_base64
from .context import ContextDep, Submitter, WebContext
from .conversation import (
    Asks,
    Cancelled,
    ChatEvent,
    Failed,
    Finished,
    State,
    TextEnd,
    TextMore,
    TextStart,
    ToolCalled,
    converse,
)
from .events import EventStream
from .routing import StrictRoute
from .runs import Run, check_id, open_turn

router = APIRouter(prefix="/ui", include_in_schema=False, route_class=StrictRoute)

HEADER = "x-vercel-ai-ui-message-stream"


class UIPart(BaseModel):
    """A part of a message; parts of other types are ignored."""

    type: str
    text: str = ""
    #: Data URL of a file.
    url: str = ""
    filename: str | None = None


class UIMessage(BaseModel):
    """A message of the chat."""

    id: str
    role: str
    parts: list[UIPart] = []


class ChatBody(BaseModel):
    """What `DefaultChatTransport` sends, and `inputs` and `question` of its option `body`."""

    model_config = ConfigDict(populate_by_name=True)

    #: Id of the chat: the thread.
    id: str
    messages: Annotated[list[UIMessage], Field(min_length=1, max_length=10_000)]
    trigger: str = "submit-message"
    #: Message that is generated again.
    message_id: str | None = Field(default=None, alias="messageId")
    #: Values of the inputs of the session file.
    inputs: dict[str, bool | int | float | str] = {}
    #: Id of the question that the message answers; without it, the first one.
    question: str = ""


@router.post("/{name}", response_class=StreamingResponse)
async def chat(name: str, body: ChatBody, context: ContextDep, caller: Submitter) -> StreamingResponse:
    """Answer the newest message of a chat; stream the answer."""
    last = next((message for message in reversed(body.messages) if message.role == "user"), None)
    if last is None:
        raise InvalidInput("messages", [], "must have a message of the user")
    key = check_id("messages.id", last.id)
    if body.trigger == "regenerate-message":
        key = f"{key} {check_id('messageId', body.message_id or str(len(body.messages)))}"
    text = "\n\n".join(part.text for part in last.parts if part.type == "text")
    request = Run(
        protocol="ui",
        file=name,
        thread=check_id("id", body.id),
        key=key,
        text=text,
        inputs=body.inputs,
        attachments=tuple(_attachment(part, at) for at, part in enumerate(last.parts) if part.type == "file"),
        tags=(f"ui:{name}",),
    )
    answers = {body.question: text} if body.question else {}
    job, cursor = await open_turn(context, caller, request, answers)
    response = EventStream(_pieces(context, job, cursor, key), context.limits.stream(caller))
    response.headers[HEADER] = "v1"
    return response


def _attachment(part: UIPart, at: int) -> Attachment:
    head, found, data = part.url.partition(";base64,")
    field = f"messages[-1].parts[{at}].url"
    if not found or not head.startswith("data:"):
        raise InvalidInput(field, part.url[:50], "must be a data URL in base64")
    content = decode_base64(field, data)
    media_type = head.removeprefix("data:") or UNKNOWN_TYPE
    return Attachment.of(part.filename or f"file-{at + 1}", content, media_type=media_type)


async def _pieces(
    context: WebContext, job: AsyncCollabJob, cursor: UpdateCursor, key: str
) -> AsyncGenerator[bytes, None]:
    yield _part("start", messageId=derived_id(f"ui {job.id} {key}"), messageMetadata={"sessionId": job.id})
    async with aclosing(converse(context, job, after=cursor, key=key)) as events:
        async for event in events:
            if event is None:
                yield KEEPALIVE_COMMENT
            for piece in _convert(event):
                yield piece
    yield format_sse_event(data_str="[DONE]")


def _part(kind: str, **fields: Any) -> bytes:
    return format_sse_event(data_str=dump_json({"type": kind, **fields}))


def _convert(event: ChatEvent) -> Iterator[bytes]:
    match event:
        case State():
            yield _part("data-session", id="session", data=event.session.model_dump(mode="json"))
        case TextStart():
            speaker = {"symposia": {"speaker": event.speaker}}
            yield _part("text-start", id=event.id, providerMetadata=speaker)
        case TextMore():
            yield _part("text-delta", id=event.id, delta=event.text)
        case TextEnd():
            yield _part("text-end", id=event.id)
            if event.is_replaced:
                yield _part("data-replaced", data={"text": event.id})
        case ToolCalled():
            call = {"toolCallId": event.id, "dynamic": True}
            use = event.use
            yield _part("tool-input-available", toolName=use.name, input=use.arguments, **call)
            yield _part("tool-output-available", output=use.result, **call)
        case _:
            yield from _end(event)


def _end(event: ChatEvent) -> Iterator[bytes]:
    match event:
        case Asks():
            for question in event.questions:
                yield _part("data-question", id=question.id, data=question.model_dump(mode="json"))
            yield _part("finish", finishReason="other")
        case Finished():
            if event.result is not None and event.result.output is not None:
                yield _part("data-output", data=event.result.output)
            yield _part("finish", finishReason="stop")
        case Cancelled():
            yield _part("abort", reason="the session was cancelled")
        case Failed():
            yield _part("error", errorText=event.message)
        case _:
            pass
