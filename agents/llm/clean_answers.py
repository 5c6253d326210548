"""Answers of models without characters that cannot be stored; they are cleaned before they are journalled."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart

from ...models.text.redact import clean_data, clean_text


def clean_response(response: ModelResponse) -> ModelResponse:
    """Return an answer with clean texts and arguments of tool calls."""
    return replace(response, parts=[_clean_part(part) for part in response.parts])


def _clean_part(part: Any) -> Any:
    match part:
        case TextPart() | ThinkingPart():
            return replace(part, content=clean_text(part.content))
        case ToolCallPart(args=str() as args):
            return replace(part, args=_clean_json(args))
        case ToolCallPart(args=dict() as args):
            return replace(part, args=clean_data(args))
        case _:
            return part


def _clean_json(text: str) -> str:
    """Return JSON text with clean texts in it, also those that it writes as escapes."""
    text = clean_text(text)
    if "\\u" not in text:
        return text
    try:
        return json.dumps(clean_data(json.loads(text)), ensure_ascii=False)
    except ValueError:  # the model is asked again by its parser
        return text
