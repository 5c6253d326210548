"""What is stored of model requests and answers: prompts for the record of a turn, and answers without characters that
cannot be stored; these are cleaned before they are journalled. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from pydantic import JsonValue
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_jsonable_python

from ...models.sessions.recorded import ModelPrompt, RecordedTool
from ...models.text.json_text import dump_json
from ...models.text.redact import clean_data, clean_text
from ...models.text.thinking import without_thinking
from .caching import CACHE_SETTINGS
from .string_content import join_texts

#: Settings that a record leaves out: they depend on the time that is left, or say nothing about the answer.
_UNRECORDED_SETTINGS = frozenset({"timeout", "max_retries"}) | CACHE_SETTINGS
#: Fields of a message part that differ between two runs of the same turn, or say nothing about its text.
_UNRECORDED_FIELDS = frozenset(
    {"timestamp", "part_kind", "content", "id", "provider_name", "provider_details"}
)
_LABELS = {
    "system-prompt": "system prompt",
    "user-prompt": "prompt",
    "text": "own message",
    "tool-call": "tool call",
    "tool-return": "tool result",
    "retry-feedback": "correction",
}


def describe_prompt(request: ModelRequestContext, *, since: int) -> ModelPrompt:
    """Return a request as it is sent.

    Args:
        request: The request.
        since: Number of messages that an earlier request of the run had: their texts are left out.
    """
    settings: dict[str, JsonValue] = to_jsonable_python(request.model_settings or {}, fallback=str)
    wanted = request.model_request_parameters
    forms = [(tool.name, tool.parameters_json_schema) for tool in wanted.output_tools]
    if wanted.output_object is not None:
        forms.append((wanted.output_object.name or "", wanted.output_object.json_schema))
    return ModelPrompt(
        model=request.model.model_name,
        settings={name: value for name, value in settings.items() if name not in _UNRECORDED_SETTINGS},
        texts=tuple(_texts(request.messages, since)),
        tools=tuple(map(_tool, wanted.function_tools)),
        form=dump_json(forms) if forms else "",
    )


def _tool(tool: ToolDefinition) -> RecordedTool:
    return RecordedTool(
        name=tool.name, description=tool.description or "", parameters=tool.parameters_json_schema
    )


def _texts(messages: Sequence[ModelMessage], since: int) -> Iterator[tuple[str, str]]:
    if not since and (instructions := getattr(messages[-1], "instructions", None)):
        yield "instructions", instructions
    shown = [_without_bytes(message) for message in messages[since:]]
    for message in ModelMessagesTypeAdapter.dump_python(shown, mode="json"):
        for part in message["parts"]:
            kind = part.get("part_kind", "")
            yield _LABELS.get(kind, kind), _text(part)


def _without_bytes(message: ModelMessage) -> ModelMessage:
    """Return a message whose files are named by their digests, so that a record stays small."""
    if not isinstance(message, ModelRequest):
        return message
    parts = [
        _prompt_without_bytes(part) if isinstance(part, UserPromptPart) else part for part in message.parts
    ]
    return replace(message, parts=parts)


def _prompt_without_bytes(part: UserPromptPart) -> UserPromptPart:
    if isinstance(part.content, str):
        return part
    content = [
        f"[{item.media_type}, sha256 {sha256(item.data).hexdigest()}]"
        if isinstance(item, BinaryContent)
        else item
        for item in part.content
    ]
    return replace(part, content=join_texts(content))


def _text(part: dict[str, Any]) -> str:
    """Return the text of a message part; of a part with more fields, all of them."""
    content = part.get("content")
    if part.get("part_kind") in ("user-prompt", "system-prompt", "text") and isinstance(content, str):
        return content
    rest = {
        name: value for name, value in part.items() if name not in _UNRECORDED_FIELDS and value is not None
    }
    return dump_json(rest | ({} if content is None else {"content": content}))


def clean_response(response: ModelResponse) -> ModelResponse:
    """Return an answer with clean texts and arguments of tool calls."""
    return replace(response, parts=[_clean_part(part) for part in response.parts])


def _clean_part(part: Any) -> Any:
    match part:
        case TextPart() | ThinkingPart():
            return replace(part, content=_clean_content(part))
        case ToolCallPart(args=str() as args):
            return replace(part, args=_clean_json(args))
        case ToolCallPart(args=dict() as args):
            return replace(part, args=clean_data(args))
        case _:
            return part


def _clean_content(part: TextPart | ThinkingPart) -> str:
    """Return the clean text of a part; thoughts in the text of an answer are removed."""
    text = clean_text(part.content)
    return without_thinking(text) if isinstance(part, TextPart) else text


def _clean_json(text: str) -> str:
    """Return JSON text with clean texts in it, also those that it writes as escapes."""
    text = clean_text(text)
    if "\\u" not in text:
        return text
    try:
        return json.dumps(clean_data(json.loads(text)), ensure_ascii=False)
    except ValueError:  # the model is asked again by its parser
        return text
