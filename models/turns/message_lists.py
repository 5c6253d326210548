"""Dialogs as the message lists of model providers, and the part of a dialog that fits a window.

Source: Dialog module, sections 3.2 and 6.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NotRequired, TypedDict, TypeVar

from ..protocol.dialog import Dialog, Message, Role
from ..text.ids import derived_id

T = TypeVar("T")

_CHARACTERS_PER_TOKEN = 4
_OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


class ChatMessage(TypedDict):
    """A message as both OpenAI and Anthropic take it."""

    role: str
    content: str
    #: OpenAI only: who speaks, as `[a-zA-Z0-9_-]{1,64}`.
    name: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of a message list, and the names of its speakers.

    Attributes:
        names: Display name by participant id; a participant without one is called by its id.
        me: Participant id. Its own messages become the `assistant`'s, those of all others the `user`'s.
            None: every participant is the `assistant`, as section 3.2 has it.
        opening: What the user says first where a participant has the first word, such as the purpose: the APIs
            want the first message to be the user's. None: nothing is put in front.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    me: str | None = None
    opening: str | None = None


def to_openai_messages(dialog: Dialog, reader: Reader | None = None) -> list[ChatMessage]:
    """Convert a dialog to messages of OpenAI's chat API and the many that speak it (section 3.2).

    `agent` becomes `assistant`, and `name` holds the speaker's id; a character that the API does not
    take in a name becomes `_`, followed by a short hash of the id, so that names stay distinct.
    """
    reader = reader or Reader()
    return _opened([_openai_message(message, reader) for message in dialog.messages], reader)


def _openai_message(message: Message, reader: Reader) -> ChatMessage:
    converted = ChatMessage(role=_role_for(message, reader), content=message.text)
    if message.author is not None:
        converted["name"] = _openai_name(message.author)
    return converted


def to_anthropic_messages(dialog: Dialog, reader: Reader | None = None) -> tuple[str, list[ChatMessage]]:
    """Convert a dialog to Anthropic's messages API: the system prompt, and the messages without it.

    The API has no field for a speaker, so a message begins with `[Display name]`, as in section 5.2. It
    refuses blank messages, so they are left out. System messages, wherever they are, are joined by blank
    lines; without any the prompt is empty and is best left out of the request.
    """
    reader = reader or Reader()
    system = "\n\n".join(m.text for m in dialog.messages if m.role is Role.SYSTEM)
    messages = [
        ChatMessage(role=_role_for(m, reader), content=_with_speaker(m, reader))
        for m in dialog.messages
        if m.role is not Role.SYSTEM and m.content.strip()
    ]
    if messages and messages[-1]["role"] == Role.ASSISTANT:
        # The API refuses a last message of the assistant that ends in white space.
        messages[-1]["content"] = messages[-1]["content"].rstrip()
    return system, _opened(messages, reader)


def _opened(messages: list[ChatMessage], reader: Reader) -> list[ChatMessage]:
    """Return the messages with the opening before the first non-system message, unless that is the user's."""
    first = next((i for i, message in enumerate(messages) if message["role"] != Role.SYSTEM), len(messages))
    if reader.opening is not None and (first == len(messages) or messages[first]["role"] != Role.USER):
        messages.insert(first, ChatMessage(role=Role.USER.value, content=reader.opening))
    return messages


def _role_for(message: Message, reader: Reader) -> str:
    if message.role in (Role.SYSTEM, Role.USER):
        return message.role.value
    if reader.me is None or message.speaker == reader.me:
        return Role.ASSISTANT.value
    return Role.USER.value


def _with_speaker(message: Message, reader: Reader) -> str:
    """Return the content after `[Name]`; what a participant said itself needs no name for that participant."""
    author = message.author
    is_own = reader.me is not None and message.speaker == reader.me
    if author is None or is_own:
        return message.text
    label = f"[{reader.names.get(author, author)}]"
    return message.text if message.content.startswith(label) else f"{label} {message.text}"


@lru_cache(maxsize=4_096)
def _openai_name(participant_id: str) -> str:
    if _OPENAI_NAME.fullmatch(participant_id):
        return participant_id
    plain = _NOT_IN_A_NAME.sub("_", participant_id)[:55]
    return f"{plain}_{derived_id(participant_id)[:8]}"


#: A tokenizer counts at most this many times the estimated tokens, for text and code.
MAX_TOKENS_PER_ESTIMATED = 2


def estimate_tokens(text: str) -> int:
    """Return an estimate of the tokens of a text: a quarter of its ASCII characters, rounded up, and all others."""
    other = len(text) - len(text.encode("ascii", "ignore"))
    return other - (-(len(text) - other) // _CHARACTERS_PER_TOKEN)


def recent_messages(
    dialog: Dialog | Sequence[Message], max_tokens: int, estimate: Callable[[str], int] = estimate_tokens
) -> list[Message]:
    """Return the newest messages of a dialog that fit `max_tokens` together, in order (section 6.2).

    It goes back from the newest and stops at the first that no longer fits, so the window has no gaps.
    """
    messages = dialog.messages if isinstance(dialog, Dialog) else dialog
    return newest_that_fit(messages, max_tokens, lambda message: estimate(message.content))


def newest_that_fit(items: Sequence[T], max_tokens: int, tokens_of: Callable[[T], int]) -> list[T]:
    """Return the newest items that fit `max_tokens` together, in order: back to the first that no longer fits."""
    begin = len(items)
    while begin and (tokens := tokens_of(items[begin - 1])) <= max_tokens:
        begin -= 1
        max_tokens -= tokens
    return list(items[begin:])
