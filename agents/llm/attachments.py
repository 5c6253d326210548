"""Attachments in the prompt of a model.

Each file is named below its message. Small text files follow there as text, for every model. Other files are sent
with the request if the model and its fallback models take their media type, the newest first, up to a limit.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import BinaryContent, UserContent

from ...models.attachments import Attachment
from ...models.errors import AttachmentUnavailable
from ...models.protocol.dialog import Message, message_digest
from ...models.turns.turn import TurnContext

#: Maximum bytes of the text files that follow one message as text. It depends on nothing but the message, so that the
#: summary of a dialog finds it again.
MAX_TEXT_BYTES = 32_768
#: Maximum bytes of the files in one request.
MAX_REQUEST_BYTES = 16_777_216
#: Media types besides `text/...` that are text.
_TEXT_TYPES = frozenset(f"application/{subtype}" for subtype in ("json", "jsonl", "toml", "yaml", "xml"))


def takes(patterns: Sequence[str], media_type: str) -> bool:
    """Return whether a media type is in a list such as `image/*`, `application/pdf`."""
    return media_type in patterns or f"{media_type.partition('/')[0]}/*" in patterns


def is_text(attachment: Attachment) -> bool:
    """Return whether an attachment is small enough and of a type to be shown as text."""
    is_of_type = attachment.media_type.startswith("text/") or attachment.media_type in _TEXT_TYPES
    return is_of_type and attachment.size <= MAX_TEXT_BYTES


async def name_attachments(turn: TurnContext) -> TurnContext:
    """Return a turn whose messages name their attachments, with the text of small text files."""
    if not turn.attachments:
        return turn
    named = {
        message_digest(message): await _with_files(message)
        for message in (*turn.opening, *turn.messages)
        if message.attachments
    }
    messages = tuple(named.get(message_digest(message), message) for message in turn.messages)
    opening = tuple(named.get(message_digest(message), message) for message in turn.opening)
    return turn.model_copy(update={"messages": messages, "opening": opening})


async def _with_files(message: Message) -> Message:
    left, lines = MAX_TEXT_BYTES, [message.content]
    for attachment in message.attachments:
        lines.append(attachment.line)
        if is_text(attachment) and attachment.size <= left and (text := await _text(attachment)) is not None:
            left -= attachment.size
            lines += [text, f"[End of file {attachment.name}]"]
    return message.changed(content="\n".join(lines))


async def _text(attachment: Attachment) -> str | None:
    try:
        return (await attachment.load_async()).decode()
    except (AttachmentUnavailable, UnicodeDecodeError):
        return None


async def files_for_model(
    messages: Sequence[Message], accepted: Sequence[Sequence[str]]
) -> dict[str, list[UserContent]]:
    """Return the files that all models of a chain take, each after its name, by the digest of their message.

    A file of several messages belongs to the first of them, so that a later message does not move it.

    Args:
        messages: The messages that the model is shown, oldest first.
        accepted: The media types that each model takes.
    """
    chosen: dict[str, tuple[Message, Attachment]] = {}
    left = MAX_REQUEST_BYTES
    newest_first = [
        (message, file) for message in reversed(messages) for file in reversed(message.attachments)
    ]
    for owner, file in newest_first:
        is_taken = accepted and all(takes(patterns, file.media_type) for patterns in accepted)
        if file.sha256 in chosen:
            chosen[file.sha256] = owner, file
        elif is_taken and file.size <= left and not is_text(file):
            chosen[file.sha256] = owner, file
            left -= file.size
    parts: dict[str, list[UserContent]] = {}
    for owner, file in reversed(chosen.values()):
        try:
            data = await file.load_async()
        except AttachmentUnavailable:
            continue
        of_message = parts.setdefault(message_digest(owner), [])
        of_message += [f"File {file.name}:", BinaryContent(data, media_type=file.media_type)]
    return parts
