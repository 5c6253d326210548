"""Arguments of tool calls, repaired before the model would be asked again."""

from __future__ import annotations

from dataclasses import replace

from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestParameters

from ...models.text.json_text import dump_json
from ...models.text.lax_json import fit, repair


def repair_calls(
    response: ModelResponse, wanted: ModelRequestParameters, *, is_complete: bool
) -> ModelResponse:
    """Return an answer whose tool calls have valid JSON arguments with the types of their schemas, where possible.

    Args:
        response: The answer.
        wanted: The tools of the request, with their schemas.
        is_complete: Whether the arguments are whole; arguments that are cut off are not repaired.
    """
    schemas = {
        tool.name: tool.parameters_json_schema for tool in (*wanted.function_tools, *wanted.output_tools)
    }
    parts = [
        _repair_call(part, schemas.get(part.tool_name, {}), is_complete=is_complete)
        if isinstance(part, ToolCallPart)
        else part
        for part in response.parts
    ]
    return replace(response, parts=parts) if parts != list(response.parts) else response


def _repair_call(call: ToolCallPart, schema: dict[str, object], *, is_complete: bool) -> ToolCallPart:
    given = _arguments(call)
    if given is None:
        try:
            repaired = repair(call.args) if is_complete and isinstance(call.args, str) else None
        except ValueError:
            return call
    else:
        repaired = given
    fitted = fit(repaired, schema)
    if not isinstance(fitted, dict) or fitted == given:
        return call
    return replace(call, args=dump_json(fitted))


def _arguments(call: ToolCallPart) -> dict[str, object] | None:
    """Return the arguments of a call; None: they are not a JSON object."""
    try:
        return call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return None


def has_broken_call(response: ModelResponse) -> bool:
    """Return whether a tool call of an answer has arguments that are no JSON object."""
    return any(_arguments(part) is None for part in response.parts if isinstance(part, ToolCallPart))
