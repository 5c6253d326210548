"""JSON text: written and read faster than with `json`, values as data, and JSON in the text of a turn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python


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


def to_json_data(value: object) -> Any:
    """Return a value as JSON data: a model by the names of its JSON form, a dataclass, a date, and so on.

    Raises:
        ValueError: The value has no JSON form.
    """
    if value is None or isinstance(value, str):
        return value
    try:
        return to_jsonable_python(value, by_alias=True)
    except (PydanticSerializationError, RecursionError) as error:
        raise ValueError(f"must be JSON data or a pydantic model: {error}") from None


def depth_of(data: object) -> int:
    """Return how deep lists and objects are nested: 0 for a text or a number, 1 for an empty list.

    Args:
        data: JSON data.
    """
    level, depth = _containers([data]), 0
    while level:
        depth += 1
        level = _containers(
            part for whole in level for part in (whole.values() if isinstance(whole, dict) else whole)
        )
    return depth


def _containers(data: Iterable[object]) -> list[dict[str, object] | list[object]]:
    return [item for item in data if isinstance(item, dict | list)]


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
    lines, block = text.splitlines(), None
    for first, last in json_blocks(lines):
        block = "\n".join(lines[first + 1 : last])
    return block


_FENCE = "```"
_LABELS = ("", "json")


def json_blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of closed fenced blocks that are marked as JSON or not marked."""
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        mark = line.strip()
        if opened is None and mark.startswith(_FENCE):
            opened = number, mark.removeprefix(_FENCE).strip().casefold()
        elif opened is not None and mark == _FENCE:
            if opened[1] in _LABELS:
                yield opened[0], number
            opened = None


#: Where an object may begin between words, and how many such places are tried, so that the time is bounded.
_OBJECT = re.compile(r'\{\s*"')
_MAX_OBJECTS = 50
_DECODER = json.JSONDecoder()


def find_json(text: str) -> Iterator[tuple[Any, str]]:
    """Yield the JSON data of a text with the rest of the text; none with mistakes, as of a text that is cut.

    It is that of the whole text, of fenced blocks, and of objects between words; of several, the last comes first.
    """
    for candidate, rest in _candidates(text):
        try:
            data = from_json(candidate, allow_inf_nan=False)
        except ValueError:
            continue
        yield data, rest


def _candidates(text: str) -> Iterator[tuple[str, str]]:
    """Yield texts that may be JSON, with the rest of the text."""
    if text.lstrip()[:1] in ("{", "["):
        yield text, ""
    lines = text.split("\n")
    for first, last in reversed(list(json_blocks(lines))):
        rest = lines[:first] + lines[last + 1 :]
        yield "\n".join(lines[first + 1 : last]), "\n".join(rest)
    for start, end in reversed(list(_objects(text))):
        yield text[start:end], f"{text[:start].rstrip()}\n{text[end:].lstrip()}"


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the outermost JSON objects in a text."""
    start, tries = 0, 0
    while tries < _MAX_OBJECTS and (match := _OBJECT.search(text, start)):
        tries += 1
        try:
            _, end = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            start = match.start() + 1
        else:
            yield match.start(), end
            start = end
