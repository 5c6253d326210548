"""Dialogs as the message lists of model providers, and the part of a dialog that fits a window.

Source: Dialog module, sections 3.2 and 6.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from .dialog import Dialog, Message, Role

_BYTES_PER_TOKEN = 4


class ChatMessage(TypedDict):
    """A message as both OpenAI and Anthropic take it."""

    role: str
    content: str


def to_openai_messages(dialog: Dialog) -> list[ChatMessage]:
    """The dialog for OpenAI's chat API and the many that speak it: `agent` becomes `assistant`."""
    return [
        {"role": Role.ASSISTANT.value if m.role is Role.AGENT else m.role.value, "content": m.content}
        for m in dialog.messages
    ]


def to_anthropic_messages(dialog: Dialog) -> tuple[str, list[ChatMessage]]:
    """The dialog for Anthropic's messages API: the system prompt, and the messages without it.

    System messages, wherever they stand, are joined by blank lines; without any the prompt is
    empty and is best left out of the request. `agent` becomes `assistant`. Every other message
    stays one message: the API itself joins neighbours of the same role. It wants the first one
    to be the user's, which a dialog among agents has not; what to say there is the caller's to
    choose, so nothing is made up here.
    """
    system = "\n\n".join(m.content for m in dialog.messages if m.role is Role.SYSTEM)
    messages: list[ChatMessage] = [
        {"role": (Role.USER if m.role is Role.USER else Role.ASSISTANT).value, "content": m.content}
        for m in dialog.messages
        if m.role is not Role.SYSTEM
    ]
    return system, messages


def estimate_tokens(text: str) -> int:
    """About how many tokens a text is: a quarter of its UTF-8 bytes, rounded up."""
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


def recent_messages(
    dialog: Dialog | Sequence[Message], max_tokens: int, estimate: Callable[[str], int] = estimate_tokens
) -> list[Message]:
    """The newest messages of a dialog that fit `max_tokens` together, in order (section 6.2).

    It goes back from the newest and stops at the first that no longer fits, so the window has no gaps.
    """
    recent: list[Message] = []
    tokens = 0
    for message in reversed(dialog.messages if isinstance(dialog, Dialog) else dialog):
        tokens += estimate(message.content)
        if tokens > max_tokens:
            break
        recent.append(message)
    recent.reverse()
    return recent
