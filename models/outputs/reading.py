"""JSON in the text of a turn: the whole text, or the last block of code in it."""

from __future__ import annotations

import json

from pydantic import JsonValue

from ..text.code_blocks import json_blocks
from ..text.json_text import parse_json


def read_json(text: str) -> JsonValue:
    """Return the JSON value of a text.

    Raises:
        ValueError: Neither the text nor its last block of code is JSON.
    """
    plain = text.strip()
    try:
        return _parse(plain)
    except ValueError:
        block = _last_block(plain)
        if block is None:
            raise
        return _parse(block)


def _parse(text: str) -> JsonValue:
    try:
        value: JsonValue = parse_json(text)
        json.dumps(value, allow_nan=False)  # parsers of JSON accept NaN
    except RecursionError:
        raise ValueError("is nested too deep") from None
    return value


def _last_block(text: str) -> str | None:
    """Return the text of the last closed block of code that may hold JSON."""
    lines, found = text.splitlines(), None
    for first, last in json_blocks(lines):
        found = "\n".join(lines[first + 1 : last])
    return found
