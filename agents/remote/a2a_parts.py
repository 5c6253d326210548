"""Parts of A2A messages and artifacts: from the dialog of a turn, and to its outcome."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from a2a.helpers import get_data_parts, new_raw_part, new_text_part
from a2a.types import Message, Part, Role, Task
from pydantic import JsonValue

from ...models.attachments import MAX_PER_MESSAGE, UNKNOWN_TYPE, Attachment, check_media_type, check_name
from ...models.errors import AttachmentUnavailable, BadOutcome, InvalidInput
from ...models.protocol.dialog import Message as DialogMessage
from ...models.text.json_text import dump_json
from ...models.turns.turn import DraftMessage, GivenAnswer, TurnContext, TurnOutcome

#: Maximum bytes of the files of one message; further ones are only named.
MAX_FILE_BYTES = 16_777_216


async def turn_parts(turn: TurnContext, *, is_reply: bool) -> list[Part]:
    """Return the parts of a message.

    Args:
        turn: The turn.
        is_reply: Return the answer to the question of the task, instead of those of a new task: the messages since the
            participant's last one, with their files, and the questions that earlier tasks have asked, with the answers.
    """
    if is_reply:
        return [new_text_part(_answer_text(turn.answers[-1]))]
    messages = _new_messages(turn)
    parts = [new_text_part(_text(turn, messages))]
    left = MAX_FILE_BYTES
    for attachment in dict.fromkeys(file for message in messages for file in message.attachments):
        if attachment.size <= left:
            with suppress(AttachmentUnavailable):
                data = await attachment.load_async()
                left -= len(data)
                parts.append(new_raw_part(data, media_type=attachment.media_type, filename=attachment.name))
    return parts


def _answer_text(answer: GivenAnswer) -> str:
    return answer.text or "(no answer in time)"


def _new_messages(turn: TurnContext) -> Sequence[DialogMessage]:
    own = [at for at, message in enumerate(turn.messages) if message.speaker == turn.me.participant_id]
    return turn.messages[own[-1] + 1 :] if own else turn.messages


def _text(turn: TurnContext, messages: Sequence[DialogMessage]) -> str:
    lines = [
        "\n".join([message.content, *(file.line for file in message.attachments)]) for message in messages
    ]
    if len(lines) > 1:
        lines = [f"{message.speaker}: {line}" for message, line in zip(messages, lines, strict=True)]
    request = [turn.instruction, turn.item.text if turn.item else ""]
    if turn.output_schema is not None:
        request.append(
            f"Answer with JSON that is valid under this JSON schema:\n{dump_json(turn.output_schema)}"
        )
    text = "\n\n".join(filter(None, [*lines, *request])) or turn.purpose
    answers = [f"Question: {answer.question.text}\nAnswer: {_answer_text(answer)}" for answer in turn.answers]
    return "\n\n".join([text, *answers])


def read_outcome(answer: Task | Message) -> TurnOutcome:
    """Return the outcome of a turn: texts and links as the message, files as attachments, data as the output.

    Raises:
        BadOutcome: There is no content, or a file cannot be an attachment.
    """
    parts = list(_result_parts(answer))
    lines = [part.text or part.url for part in parts if part.text or part.url]
    attachments = [_attachment(part, at) for at, part in enumerate(parts, start=1) if part.raw]
    data = get_data_parts(parts)
    output: JsonValue = None if not data else data[0] if len(data) == 1 else data
    lines = lines or [attachment.line for attachment in attachments]
    if not lines:
        return TurnOutcome.skip_turn() if output is None else TurnOutcome(output=output)
    draft = DraftMessage(content="\n\n".join(lines), attachments=tuple(attachments[:MAX_PER_MESSAGE]))
    return TurnOutcome(messages=(draft,), output=output)


def _result_parts(answer: Task | Message) -> Iterable[Part]:
    """Return the parts of the artifacts; without any, of the status, or of the agent's last message."""
    if isinstance(answer, Message):
        return list(answer.parts)
    if answer.artifacts:
        return [part for artifact in answer.artifacts for part in artifact.parts]
    said = [message for message in answer.history if message.role == Role.ROLE_AGENT]
    messages = [answer.status.message, *reversed(said)]
    return next((list(message.parts) for message in messages if message.parts), [])


def _attachment(part: Part, number: int) -> Attachment:
    name, media_type = f"artifact-{number}", UNKNOWN_TYPE
    with suppress(ValueError):
        name = check_name(part.filename.replace("\\", "/").rpartition("/")[2].strip())
    with suppress(ValueError):
        media_type = check_media_type(part.media_type.partition(";")[0].strip().lower())
    try:
        return Attachment.of(name, part.raw, media_type=media_type)
    except InvalidInput as error:
        raise BadOutcome(str(error)) from None
