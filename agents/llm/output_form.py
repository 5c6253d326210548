"""The form in which a model gives the output of a session: structured output by the session's JSON schema."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic_ai import StructuredDict
from pydantic_ai.exceptions import UserError

from ...models.text.json_text import dump_json, parse_json


def output_form(schema: dict[str, Any]) -> type[dict[str, Any]] | None:
    """Return the form of a schema; None: models cannot fill it in, and answer with JSON text instead.

    A form must be an object, and its definitions must not refer to themselves.
    """
    return _form(dump_json(schema))


@lru_cache(maxsize=64)
def _form(schema: str) -> type[dict[str, Any]] | None:
    try:
        return StructuredDict(parse_json(schema), name="Result")
    except UserError:
        return None
