"""JSON in the text of a turn: the whole text, or the last block of code in it."""

from __future__ import annotations

import json

from pydantic import JsonValue

from ..text.json_text import parse_json

_FENCE = "```"
#: Labels of a code block that may hold JSON.
_LABELS = ("", "json")


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
    found, begun = None, None
    lines = text.splitlines()
    for at, line in enumerate(lines):
        mark = line.strip()
        if begun is None and mark.startswith(_FENCE):
            begun = at
        elif begun is not None and mark == _FENCE:
            if lines[begun].strip().removeprefix(_FENCE).strip().lower() in _LABELS:
                found = "\n".join(lines[begun + 1 : at])
            begun = None
    return found
