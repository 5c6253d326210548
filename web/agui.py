"""`POST /agui/NAME`: a session file as an agent of the Agent User Interaction protocol (AG-UI).

Source: AG-UI 1.0, https://docs.ag-ui.com.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    DataSource,
    Interrupt,
    ResumeEntry,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TextPart,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    UserMessage,
)
from ag_ui.encoder import EventEncoder
from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT

from ..client.aio.jobs import AsyncCollabJob
from ..models.attachments import UNKNOWN_TYPE, Attachment
from ..models.errors import InvalidInput
from ..models.text.json_text import dump_json
from ..models.turns.waiting import Verdict
from ..state.streams.updates import UpdateCursor
from .answers import QuestionData
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

router = APIRouter(prefix="/agui", include_in_schema=False, route_class=StrictRoute)

#: Version of the protocol that is spoken.
PROTOCOL_VERSION = "1.0"
_encoder = EventEncoder()


@router.post("/{name}", response_class=StreamingResponse)
async def run(name: str, body: RunAgentInput, context: ContextDep, caller: Submitter) -> StreamingResponse:
    """Run a session of a thread, or answer the questions of its session; stream its events."""
    text, attachments = _newest_user_message(body)
    props = body.forwarded_props if isinstance(body.forwarded_props, dict) else {}
    request = Run(
        protocol="agui",
        file=name,
        thread=check_id("threadId", body.thread_id),
        key=check_id("runId", body.run_id),
        text=text,
        inputs=inputs if isinstance(inputs := props.get("inputs"), dict) else {},
        attachments=attachments,
        tags=(f"agui:{name}",),
    )
    answers = {entry.interrupt_id: _answer(entry) for entry in body.resume or ()}
    job, cursor = await open_turn(context, caller, request, answers)
    return EventStream(_pieces(context, job, cursor, body), context.limits.stream(caller))


def _newest_user_message(body: RunAgentInput) -> tuple[str, tuple[Attachment, ...]]:
    """Return text and files of the last message, if the user has sent it."""
    last = body.messages[-1] if body.messages else None
    if not isinstance(last, UserMessage):
        return "", ()
    if isinstance(last.content, str):
        return last.content, ()
    texts, files = [], []
    for at, part in enumerate(last.content):
        if isinstance(part, TextPart):
            texts.append(part.text)
        elif isinstance(part.source, DataSource):
            files.append(_attachment(part.source, f"messages[-1].content[{at}]", at))
        else:
            raise InvalidInput(
                f"messages[-1].content[{at}]", part.source.type, "must have a source of type data"
            )
    return "\n\n".join(texts), tuple(files)


def _attachment(source: DataSource, field: str, at: int) -> Attachment:
    data = decode_base64(field, source.value)
    suffix = source.mime_type.partition("/")[2].partition(";")[0]
    return Attachment.of(f"file-{at + 1}.{suffix}", data, media_type=source.mime_type or UNKNOWN_TYPE)


def _answer(entry: ResumeEntry) -> str:
    """Return the text of an answer; an abandoned question is one that is refused."""
    payload = entry.payload
    if entry.status == "cancelled":
        return Verdict.REFUSE.value
    if isinstance(payload, dict):
        payload = payload.get("text", payload.get("approve", payload))
    if isinstance(payload, bool):
        return (Verdict.APPROVE if payload else Verdict.REFUSE).value
    return payload if isinstance(payload, str) else dump_json(payload)


async def _pieces(
    context: WebContext, job: AsyncCollabJob, cursor: UpdateCursor, body: RunAgentInput
) -> AsyncGenerator[bytes, None]:
    started = RunStartedEvent(thread_id=body.thread_id, run_id=body.run_id, protocol_version=PROTOCOL_VERSION)
    yield _encoder.encode(started).encode()
    async with aclosing(converse(context, job, after=cursor, key=body.run_id)) as events:
        async for event in events:
            if event is None:
                yield KEEPALIVE_COMMENT
            for converted in _convert(event, body):
                yield _encoder.encode(converted).encode()


def _convert(event: ChatEvent, body: RunAgentInput) -> Iterator[BaseEvent]:
    if isinstance(event, Asks | Finished | Cancelled | Failed):
        yield _end(event, body)
        return
    match event:
        case State():
            yield StateSnapshotEvent(snapshot={"session": event.session.model_dump(mode="json")})
        case TextStart():
            yield TextMessageStartEvent(message_id=event.id, role="assistant", name=event.speaker)
        case TextMore():
            yield TextMessageContentEvent(message_id=event.id, delta=event.text)
        case TextEnd():
            yield TextMessageEndEvent(message_id=event.id)
            if event.is_replaced:
                yield CustomEvent(name="symposia.replaced", value={"messageId": event.id})
        case ToolCalled():
            yield ToolCallStartEvent(tool_call_id=event.id, tool_call_name=event.use.name)
            yield ToolCallArgsEvent(tool_call_id=event.id, delta=dump_json(event.use.arguments))
            yield ToolCallEndEvent(tool_call_id=event.id)
            yield ToolCallResultEvent(
                message_id=f"{event.id}:result", tool_call_id=event.id, content=event.use.result, role="tool"
            )
        case None:
            pass


def _end(event: Asks | Finished | Cancelled | Failed, body: RunAgentInput) -> BaseEvent:
    finished = RunFinishedEvent(thread_id=body.thread_id, run_id=body.run_id)
    match event:
        case Asks():
            interrupts = [_interrupt(question) for question in event.questions]
            finished.outcome = RunFinishedInterruptOutcome(interrupts=interrupts)
        case Finished():
            finished.result = None if event.result is None else event.result.model_dump(mode="json")
            finished.outcome = RunFinishedSuccessOutcome()
        case Cancelled():
            finished.outcome = RunFinishedCancelledOutcome()
        case Failed():
            return RunErrorEvent(message=event.message, code=event.code)
    return finished


def _interrupt(question: QuestionData) -> Interrupt:
    schema: dict[str, object] = {"type": "string"}
    if question.choices:
        schema["enum"] = question.choices
    return Interrupt(
        id=question.id,
        reason="approval" if question.tool else "question",
        message=question.text or f"{question.participant} is asked to speak.",
        response_schema=schema,
        expires_at=None if question.until is None else question.until.isoformat(),
        metadata={"question": question.model_dump(mode="json")},
    )
