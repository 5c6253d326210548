"""Requests in which each message of the user is one text, for servers that take no list of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel


class StringContentModel(OpenAIChatModel):
    """A model of OpenAI's chat API at another server: chat templates of many take no list of blocks.

    The blocks are joined by a blank line. A message with files stays a list.
    """

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        """Join the blocks of each message before it is sent."""
        return super().prepare_messages([_join(message) for message in messages], model_request_parameters)


def _join(message: ModelMessage) -> ModelMessage:
    if not isinstance(message, ModelRequest):
        return message
    return replace(message, parts=[_join_part(part) for part in message.parts])


def _join_part(part: ModelRequestPart) -> ModelRequestPart:
    if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
        return part
    return replace(part, content=join_texts(part.content))


def join_texts(content: Sequence[UserContent]) -> str | Sequence[UserContent]:
    """Return blocks as one text, without cache points; blocks with files are returned as they are."""
    texts = [block for block in content if not isinstance(block, CachePoint)]
    if not all(isinstance(block, str) for block in texts):
        return texts
    return "\n\n".join(block for block in texts if isinstance(block, str))
