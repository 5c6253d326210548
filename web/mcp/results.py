"""Results of the tools: their fields, and the JSON schemas of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp import types
from pydantic import BaseModel, Field, JsonValue

from ...client.aio.jobs import AsyncCollabJob
from ...models.protocol.collab import CollabStatus
from ...models.sessions.shown_status import shown_status
from ..answers import QuestionData
from ..context import WebContext
from ..questions import open_questions
from .tool_names import GET_SESSION, REPLY

#: Maximum characters of the last message in a result; the transcript has all.
MAX_TEXT = 100_000
#: Maximum number of open questions in a result.
MAX_QUESTIONS = 20
_OUTPUT = "output"


class SessionSummary(BaseModel):
    """A session in a list."""

    session_id: str
    title: str
    status: str = Field(description="`active`, `suspended`, `completed`, `failed`, `limit`, `cancelled`, ...")


class SessionList(BaseModel):
    """One page of sessions, newest first."""

    sessions: list[SessionSummary]
    next_cursor: str | None = Field(description="Cursor of the next page; null after the last one.")


class SessionResult(SessionSummary):
    """A session: its end, or its state."""

    ended: bool
    reason: str = Field(description="Why it ended, such as `satisfied`; empty while it runs.")
    detail: str
    text: str = Field(description="The last message.")
    output: JsonValue = Field(description="The typed output of the session; null: none.")
    turns: int
    tokens: int
    cost_usd: float
    questions: list[QuestionData] = Field(description="Questions that wait for people.")
    next_step: str = Field(description="What the caller can do; empty after the end.")


def _next_step(session_id: str, *, status: CollabStatus, is_asked: bool) -> str:
    if status is CollabStatus.SUSPENDED:
        return "The session is suspended; it continues when an operator resumes it."
    if is_asked:
        return (
            f"A person must answer. Ask the user, and send the answer with the tool {REPLY} (session_id, question_id, "
            f"answer). To wait for the answer of another person, call {GET_SESSION}."
        )
    return f"The session runs. Call {GET_SESSION} with session_id {session_id} to wait for its end."


async def read_result(context: WebContext, job: AsyncCollabJob) -> SessionResult:
    """Return the end of a session, or its state.

    Raises:
        SessionNotFound: The session has expired.
        RedisUnavailable: Redis does not answer.
    """
    state, collab = await job.state(), await job.collab()
    if state.is_final:
        end = await job.result()
        return SessionResult(
            session_id=job.id,
            title=end.collab.title,
            status=shown_status(end.collab.status.value, end.reason).value,
            ended=True,
            reason=end.reason,
            detail=end.detail,
            text=end.text[:MAX_TEXT],
            output=end.output_data,
            turns=end.turns,
            tokens=end.usage.tokens,
            cost_usd=end.usage.cost_usd,
            questions=[],
            next_step="",
        )
    questions = [
        QuestionData.of(question) for question in (await open_questions(context, job))[:MAX_QUESTIONS]
    ]
    return SessionResult(
        session_id=job.id,
        title=collab.title,
        status=shown_status(state.status.value, state.reason).value,
        ended=False,
        reason="",
        detail="",
        text="",
        output=None,
        turns=state.closed,
        tokens=state.usage.tokens,
        cost_usd=state.usage.cost_usd,
        questions=questions,
        next_step=_next_step(job.id, status=state.status, is_asked=bool(questions)),
    )


def result_schema(output: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON schema of `SessionResult`.

    Args:
        output: JSON schema of the output of the session. None, or one that refers to more than its own definitions: any
            value.
    """
    schema = SessionResult.model_json_schema(mode="serialization")
    if output is None:
        return schema
    inner = dict(output)
    definitions = inner.pop("$defs", {})
    own = schema["$defs"]
    if not isinstance(definitions, Mapping) or own.keys() & definitions.keys() or not _refers_inside(output):
        return schema
    inner.pop("$schema", None)
    described = {
        "anyOf": [inner, {"type": "null"}],
        "description": schema["properties"][_OUTPUT]["description"],
    }
    return {
        **schema,
        "properties": {**schema["properties"], _OUTPUT: described},
        "$defs": {**own, **definitions},
    }


def _refers_inside(schema: object) -> bool:
    """Return whether all references of a schema are to `$defs`, which are moved with it."""
    if isinstance(schema, Mapping):
        reference = schema.get("$ref", "#/$defs/")
        return (
            not {"$id", "$anchor", "$dynamicRef"} & schema.keys()
            and isinstance(reference, str)
            and reference.startswith("#/$defs/")
            and all(map(_refers_inside, schema.values()))
        )
    return not isinstance(schema, list) or all(map(_refers_inside, schema))


def tool_result(result: BaseModel, *links: types.ResourceLink) -> types.CallToolResult:
    """Return the result of a tool: data, the same as text for older clients, and links to resources."""
    text = types.TextContent(type="text", text=result.model_dump_json())
    return types.CallToolResult(content=[text, *links], structured_content=result.model_dump(mode="json"))


def error_result(text: str) -> types.CallToolResult:
    """Return the error of a tool, which the model of the client reads."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
