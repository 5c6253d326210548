"""What the API answers: sessions, messages, questions and results as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, JsonValue

from ..jobs.collab import CollabJob
from ..jobs.questions import question_id, questions_to_people
from ..jobs.reading import facts_of
from ..jobs.result import JobResult, PairVerdict
from ..models.attachments import Attachment
from ..models.protocol.dialog import Message
from ..models.sessions.shown_status import shown_status
from ..models.text.ids import moment_from_ms
from ..models.text.text_cache import cache_texts
from ..models.turns.waiting import Pending
from ..state.redis.readers import read_message
from ..state.sessions.records import SessionState


class Answer(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(frozen=True)


class ParticipantData(Answer):
    """A participant of a session."""

    participant_id: str
    kind: str
    name: str | None
    role: str | None
    #: Name of its registered agent.
    agent: str | None


class TurnData(Answer):
    """A turn that has not ended."""

    turn_id: int
    participant: str
    #: `planned`, `speaking`, `parked` or `held`.
    status: str


class SessionData(Answer):
    """A session."""

    id: str
    title: str
    purpose: str
    mode: str
    #: Status of the lifecycle.
    status: str
    #: Status as pages show it, such as `failed`.
    shown: str
    is_final: bool
    #: Whether Redis holds the session; false: only the archive does.
    is_live: bool
    reason: str | None
    detail: str | None
    tenant: str | None
    thread_id: str | None
    #: Session that it answers; null: it is no sub-session.
    parent_id: str | None
    tags: list[str]
    participants: list[ParticipantData]
    turns: int
    rounds: int
    messages: int
    open_turns: list[TurnData]
    #: Number of open questions to people.
    questions: int
    usage: JsonValue
    opened_at: datetime
    updated_at: datetime
    ended_at: datetime | None


def read_session(job: CollabJob, state: SessionState | None = None) -> SessionData:
    """Return a session. `state`: its state; None: read it."""
    state = state or job.state()
    collab, spec = facts_of(job).collab, facts_of(job).spec
    status = state.status.value
    return SessionData(
        id=job.id,
        title=collab.title,
        purpose=collab.purpose,
        mode=collab.mode.value,
        status=status,
        shown=shown_status(status, state.reason).value,
        is_final=state.is_final,
        is_live=job.is_live,
        reason=state.reason,
        detail=state.detail,
        tenant=spec.tenant,
        thread_id=spec.thread_id,
        parent_id=None if spec.parent is None else spec.parent.session_id,
        tags=list(collab.meta.tags or ()),
        participants=[
            ParticipantData(
                participant_id=person.participant_id,
                kind=person.kind.value,
                name=person.display_name,
                role=person.role_id,
                agent=binding.agent if (binding := spec.agents.get(person.participant_id)) else None,
            )
            for person in collab.participants
        ],
        turns=state.closed,
        rounds=state.rounds,
        messages=state.messages,
        open_turns=[
            TurnData(turn_id=record.number, participant=record.participant, status=record.status)
            for record in state.open_turns()
        ],
        questions=len(questions_to_people(job, state)),
        usage=state.usage.to_json_data(),
        opened_at=moment_from_ms(state.opened_ms),
        updated_at=moment_from_ms(state.updated_ms),
        ended_at=None if state.ended_ms is None else moment_from_ms(state.ended_ms),
    )


class MessageData(Answer):
    """A message of a dialog."""

    #: Id in the dialog, for `after`.
    id: str
    #: `user`, `assistant`, `system` or `agent`.
    role: str
    #: Participant id of the speaker; null: not from a turn.
    speaker: str | None
    turn_id: int | None
    content: str
    at: datetime
    #: Data beside the text.
    output: JsonValue
    #: Why the text is incomplete.
    cut: str | None
    attachments: list[Attachment]
    tool_uses: list[JsonValue]

    @classmethod
    def of(cls, message: Message) -> Self:
        """Return the data of a message that was read from a session."""
        return cls(
            id=message.entry_id or "",
            role=message.role.value,
            speaker=message.author,
            turn_id=message.turn_number,
            content=message.content,
            at=message.timestamp,
            output=message.output,
            cut=None if message.cut is None else message.cut.value,
            attachments=list(message.attachments),
            tool_uses=message.tool_uses_data or [],
        )


# Followers of a session get the same messages.
@cache_texts(maxsize=4_096)
def message_json(entry_id: str, text: str, session_id: str) -> str:
    """Return a stored message as JSON."""
    return MessageData.of(read_message((entry_id, text), session_id)).model_dump_json()


class QuestionData(Answer):
    """An open question to a person, without its reply token."""

    #: Names the question in an answer.
    id: str
    session_id: str
    title: str
    turn_id: int
    #: Whose turn it is.
    participant: str
    #: Who may answer.
    asked: list[str]
    #: Empty: the person is asked for the turn itself.
    text: str
    #: The possible answers; empty: any text.
    choices: list[str]
    #: Tool call that the answer approves or refuses.
    tool: str | None
    #: Purpose of the turn.
    expects: str
    #: Whether the answer is the turn's own message; otherwise it goes to the agent that asked.
    is_own: bool
    asked_at: datetime
    #: Deadline; null: the end of the session.
    until: datetime | None

    @classmethod
    def of(cls, pending: Pending) -> Self:
        """Return the data of a question."""
        return cls(
            id=question_id(pending.reply_token),
            session_id=pending.session_id,
            title=pending.title,
            turn_id=pending.turn_number,
            participant=pending.participant,
            asked=list(pending.asked),
            text=pending.question.text,
            choices=list(pending.question.choices),
            tool=pending.question.tool,
            expects=pending.expects.value,
            is_own=pending.is_own,
            asked_at=pending.asked_at,
            until=pending.until,
        )


class VerdictData(Answer):
    """The last verdict of the navigator of a pair."""

    by: str
    approved: bool
    reason: str

    @classmethod
    def of(cls, verdict: PairVerdict) -> Self:
        """Return the data of a verdict."""
        return cls(by=verdict.by, approved=verdict.approved, reason=verdict.reason)


class ResultData(Answer):
    """The end of a session."""

    id: str
    status: str
    #: Whether the session was completed.
    ok: bool
    reason: str
    detail: str
    #: Text of the last message.
    text: str
    #: The output, as it was checked against the schema.
    output: JsonValue
    verdict: VerdictData | None
    #: Work items of a swarm.
    items: list[dict[str, JsonValue]]
    turns: int
    rounds: int
    messages: int
    usage: JsonValue

    @classmethod
    def of(cls, result: JobResult) -> Self:
        """Return the data of a result."""
        verdict = result.verdict
        return cls(
            id=result.collab.collab_id,
            status=result.collab.status.value,
            ok=result.ok,
            reason=result.reason,
            detail=result.detail,
            text=result.text,
            output=result.output_data,
            verdict=None if verdict is None else VerdictData.of(verdict),
            items=[item.to_json_data() for item in result.items],
            turns=result.turns,
            rounds=result.rounds,
            messages=len(result.dialog.messages),
            usage=result.usage.to_json_data(),
        )


class Page(Answer):
    """A page of a list."""

    items: list[Any]
    #: Parameter `cursor` of the next page; null: this is the last one.
    next_cursor: str | None
