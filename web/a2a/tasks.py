"""Sessions as A2A tasks: states, messages, artifacts, and the card of a session file.

Source: A2A 1.0, sections 4.1 (objects) and 4.4 (agent card).
"""

from __future__ import annotations

from importlib.metadata import version

from a2a.helpers import new_data_part, new_raw_part, new_text_part
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Artifact,
    HTTPAuthSecurityScheme,
    Message,
    Part,
    Role,
    SecurityRequirement,
    SecurityScheme,
    StringList,
    Task,
    TaskState,
    TaskStatus,
)

from ...jobs.collab import CollabJob
from ...jobs.questions import questions_to_people
from ...jobs.reading import facts_of, streams_of
from ...models.errors import AttachmentUnavailable
from ...models.protocol.dialog import Message as DialogMessage
from ...models.sessions.shown_status import ShownStatus, shown_status
from ...models.turns.waiting import Pending
from ...state.redis.readers import read_message
from ..routes.files import FileData

#: Tags of the sessions of tasks: the session file, and the context.
FILE_TAG, CONTEXT_TAG = "a2a:", "a2a-context:"
#: Maximum characters of a context id: it is a part of a tag.
MAX_CONTEXT = 80
#: Messages of the history of a task, by default and at most.
HISTORY, MAX_HISTORY = 10, 100
#: Maximum bytes of the files of an artifact; further ones are only named.
MAX_FILE_BYTES = 16_777_216

ENDED = frozenset(
    {TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_CANCELED}
)
_STATES = {
    ShownStatus.COMPLETED: TaskState.TASK_STATE_COMPLETED,
    ShownStatus.LIMIT: TaskState.TASK_STATE_COMPLETED,
    ShownStatus.FAILED: TaskState.TASK_STATE_FAILED,
    ShownStatus.CANCELLED: TaskState.TASK_STATE_CANCELED,
}


def agent_card(file: FileData, url: str, *, streaming: bool = True) -> AgentCard:
    """Return the card of a session file.

    Args:
        file: The session file.
        url: URL of the agent.
        streaming: Whether it streams.
    """
    inputs = ", ".join(f"{it.name} ({it.type}{'' if it.required else ', optional'})" for it in file.inputs)
    described = "\n".join(filter(None, [file.description or file.title, f"Inputs: {inputs}" * bool(inputs)]))
    skill = AgentSkill(id=file.name, name=file.title, description=described, tags=["symposia"])
    bearer = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="bearer"))
    return AgentCard(
        name=file.title,
        description=described,
        version=version("symposia"),
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=protocol)
            for protocol in ("1.0", "0.3")
        ],
        capabilities=AgentCapabilities(streaming=streaming),
        security_schemes={"bearer": bearer},
        security_requirements=[SecurityRequirement(schemes={"bearer": StringList()})],
        default_input_modes=["text/plain", "application/json", "application/octet-stream"],
        default_output_modes=["text/plain", "application/json", "application/octet-stream"],
        skills=[skill],
    )


def tag_of(job: CollabJob, prefix: str) -> str:
    """Return the rest of the tag of a session with a prefix; empty: it has none."""
    tags = facts_of(job).collab.meta.tags or ()
    return next((tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix)), "")


def read_task(job: CollabJob, history: int = HISTORY) -> Task:
    """Return a session as a task.

    Args:
        job: The session.
        history: Number of its newest messages.
    """
    context_id = tag_of(job, CONTEXT_TAG)
    task = Task(id=job.id, context_id=context_id, status=read_status(job))
    if task.status.state == TaskState.TASK_STATE_COMPLETED:
        task.artifacts.append(read_artifact(job))
    if history > 0:
        entries = streams_of(job).newest_page(job.id, "dialog", count=min(history, MAX_HISTORY))
        task.history.extend(said(read_message(entry, job.id), job.id, context_id) for entry in entries[::-1])
    return task


def read_status(job: CollabJob) -> TaskStatus:
    """Return the status of a session."""
    state = job.state()
    status = TaskStatus()
    status.timestamp.FromMilliseconds(state.updated_ms)
    status.state = TaskState.TASK_STATE_WORKING
    if state.is_final:
        status.state = _STATES[shown_status(state.status.value, state.reason)]
        if status.state == TaskState.TASK_STATE_FAILED:
            status.message.CopyFrom(_agent_message(job.id, "end", state.detail or state.reason or "failed"))
    elif pending := questions_to_people(job):
        status.state = TaskState.TASK_STATE_INPUT_REQUIRED
        status.message.CopyFrom(question(pending[0]))
    elif not state.closed and not any(turn.status == "speaking" for turn in state.open_turns()):
        status.state = TaskState.TASK_STATE_SUBMITTED
    return status


def question(pending: Pending) -> Message:
    """Return a question to a person as the message of a status."""
    asked = pending.question
    text = asked.text or f"{pending.participant} is asked to speak."
    if asked.choices:
        text = f"{text}\n\nAnswers: {', '.join(asked.choices)}"
    return _agent_message(pending.session_id, f"question-{pending.turn_number}-{len(asked.call)}", text)


def said(message: DialogMessage, session_id: str, context_id: str) -> Message:
    """Return a message of the dialog; the metadata names the speaker."""
    is_agent = message.author is not None
    converted = _agent_message(session_id, message.entry_id or "", message.content)
    converted.role = Role.ROLE_AGENT if is_agent else Role.ROLE_USER
    converted.context_id = context_id
    if message.author is not None:
        converted.metadata.update({"speaker": message.author})
    return converted


def _agent_message(session_id: str, name: str, text: str) -> Message:
    return Message(
        message_id=f"{session_id}:{name}",
        task_id=session_id,
        role=Role.ROLE_AGENT,
        parts=[new_text_part(text)],
    )


def read_artifact(job: CollabJob) -> Artifact:
    """Return the result of a session: its text, its output, and the files of the last message."""
    result = job.result(timeout=0)
    parts: list[Part] = []
    if result.text:
        parts.append(new_text_part(result.text))
    if result.output_data is not None:
        parts.append(new_data_part(result.output_data))
    messages, left = result.dialog.messages, MAX_FILE_BYTES
    for file in messages[-1].attachments if messages else ():
        if file.size > left:
            parts.append(new_text_part(file.line))
            continue
        try:
            data = job.attachment_data(file)
        except AttachmentUnavailable:
            continue
        left -= file.size
        parts.append(new_raw_part(data, media_type=file.media_type, filename=file.name))
    return Artifact(artifact_id="result", name="result", parts=parts or [new_text_part(result.reason)])
