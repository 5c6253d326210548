"""Size limits of submissions: every part is bounded, so that no session can fill a server."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidInput, MessageTooLarge
from ..protocol.collab import Collab
from ..protocol.dialog import Message

#: Characters of a participant's id, which travels with every task of its turns.
MAX_ID = 200
#: Participants of a session: every plan and every turn looks at all of them.
MAX_PARTICIPANTS = 1_000
#: Messages a dialog may start with.
MAX_MESSAGES = 10_000
#: Bytes (UTF-8) of the collab and the messages together.
MAX_OPENING_BYTES = 67_108_864


def check_sizes(collab: Collab, messages: Sequence[Message], *, max_message_bytes: int) -> None:
    """Check a collab and what its dialog starts with; `max_message_bytes` bounds each text.

    Raises:
        InvalidInput: the first limit that is exceeded, or a blank message.
        MessageTooLarge: the first text that is too long.
    """
    _check_count("participants", len(collab.participants), MAX_PARTICIPANTS)
    _check_count("messages", len(messages), MAX_MESSAGES)
    for i, participant in enumerate(collab.participants):
        if len(participant.participant_id) > MAX_ID:
            rule = f"must have at most {MAX_ID} characters"
            raise InvalidInput(f"participants[{i}].participant_id", participant.participant_id, rule)
    for where, text in (("title", collab.title), ("purpose", collab.purpose)):
        _check_text(where, text, max_message_bytes)
    for i, message in enumerate(messages):
        if not message.content.strip():
            raise InvalidInput(f"messages[{i}].content", message.content, "must not be blank")
        _check_text(f"messages[{i}].content", message.content, max_message_bytes)
    total = sum(len(part.to_json().encode()) for part in (collab, *messages))
    if total > MAX_OPENING_BYTES:
        raise MessageTooLarge(total, limit_bytes=MAX_OPENING_BYTES, field="collab and messages")


def _check_count(where: str, count: int, limit: int) -> None:
    if count > limit:
        raise InvalidInput(where, count, f"must have at most {limit} items")


def _check_text(where: str, text: str, limit_bytes: int) -> None:
    if (size := len(text.encode())) > limit_bytes:
        raise MessageTooLarge(size, limit_bytes=limit_bytes, field=where)
