"""JSON text of data that a script or a database stores, written and read faster than with `json`."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json, to_json


def dump_json(data: object) -> str:
    """Return data as JSON text, without spaces.

    As `json.dumps(data, ensure_ascii=False)`, in a third of the time. Lone surrogates, such as from a file name in an
    error, stay as they are; `evaluate` replaces them.

    Args:
        data: JSON data, whose objects have text as keys.
    """
    try:
        return to_json(data, inf_nan_mode="constants").decode()
    except ValueError:
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def parse_json(text: str) -> Any:
    """Return the data of a JSON text, as `json.loads`, in half the time.

    Raises:
        ValueError: The text is not JSON.
    """
    try:
        return from_json(text)
    except ValueError:  # nested more than 200 levels deep, or with an escaped lone surrogate
        return json.loads(text)
