"""What a session causes when it ends: a Celery task that waits for its result, or a Celery signature that is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import Field, JsonValue

from ..errors import InvalidInput
from ..turns.frozen import Frozen

#: Option of `submit`.
ON_END = "on_end"
#: Maximum characters of a signature as JSON.
MAX_SIGNATURE_CHARS = 262_144
_RULE = "must be a Celery signature, such as `report.s()`"


class OnEnd(Frozen):
    """What is sent when a session ends: one of its fields."""

    #: Id of the Celery task whose result is that of the session: see `client/steps`.
    task: str | None = Field(default=None, max_length=200)
    #: A Celery signature as JSON; the result is its first argument.
    signature: Mapping[str, JsonValue] | None = None


def read_on_end(given: Any) -> OnEnd:
    """Return the option from a Celery signature, which is a table.

    Raises:
        InvalidInput: It is no signature, or is not JSON data.
    """
    if isinstance(given, OnEnd):
        return given
    if not isinstance(given, Mapping) or not isinstance(given.get("task"), str):
        raise InvalidInput(ON_END, given, _RULE)
    try:
        text = json.dumps(dict(given))
    except (TypeError, ValueError):
        raise InvalidInput(
            ON_END, given["task"], "must have arguments and options that are JSON data"
        ) from None
    if len(text) > MAX_SIGNATURE_CHARS:
        rule = f"must be at most {MAX_SIGNATURE_CHARS} characters as JSON"
        raise InvalidInput(ON_END, given["task"], rule)
    return OnEnd(signature=json.loads(text))
