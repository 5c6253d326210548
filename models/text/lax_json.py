"""JSON in texts of models: repaired where it has one meaning, and fitted to a schema.

json_repair is imported where it is needed; without it, only JSON without mistakes is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from .json_text import json_blocks, parse_json

#: Maximum characters of a text that is repaired, and of prose in which JSON is searched.
MAX_REPAIRED = 20_000
_MAX_DEPTH = 64
_MAX_VALUES = 100
_DECODER = json.JSONDecoder()
_BEGIN = re.compile(r"[{\[]")
_INTEGER = re.compile(r"[+-]?\d{1,30}(?:\.0{1,20})?")
_NUMBER = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?")
_WORDS = {"true": True, "false": False, "yes": True, "no": False}


def repair(text: str) -> Any:
    """Return the data of JSON text with mistakes: trailing commas, single quotes, `True`, comments, an open end.

    Raises:
        ValueError: It is not JSON, and cannot be repaired.
    """
    plain = text.strip()
    try:
        return parse_json(plain)
    except (ValueError, RecursionError):
        pass
    if not plain or plain[0] not in "{[" or len(plain) > MAX_REPAIRED:
        raise ValueError("is not JSON")
    try:
        from json_repair import loads
    except ImportError:
        raise ValueError("is not JSON") from None
    try:
        value = loads(plain, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError):
        raise ValueError("is not JSON") from None
    if not isinstance(value, dict | list) or not value:
        raise ValueError("is not JSON")
    return value


def read_values(text: str) -> list[Any]:
    """Return the JSON objects and lists of a text, in their order: the whole text, fenced blocks, or parts of prose.

    Raises:
        ValueError: It has none.
    """
    values = [value for _, _, value in _found(text)]
    if not values:
        raise ValueError("has no JSON")
    return values


def read_one(text: str) -> Any:
    """Return the JSON value of a text: the only one, or the last of several with prose between them.

    Raises:
        ValueError: It has none, or several without prose between them.
    """
    parts = list(_found(text))
    if not parts:
        raise ValueError("has no JSON")
    distinct = [part for at, part in enumerate(parts) if at == 0 or part[2] != parts[at - 1][2]]
    for (_, end, _), (start, _, _) in pairwise(distinct):
        if not re.search(r"\w", text[end:start].replace("```json", "")):
            raise ValueError("has several JSON values: give one")
    return parts[-1][2]


def read_objects(text: str, *, whole: bool) -> list[dict[str, Any]]:
    """Return the JSON objects of a text; `whole`: only if the text is nothing but JSON, maybe in a fence."""
    plain = text.strip()
    if "{" not in plain:
        return []
    if whole:
        lines = plain.splitlines()
        if len(lines) > 1 and [*json_blocks(lines)] == [(0, len(lines) - 1)]:
            plain = "\n".join(lines[1:-1]).strip()
        if plain[:1] != "{" or plain[-1:] != "}":
            return []
    try:
        values = [repair(plain)] if whole else read_values(plain)
    except ValueError:
        return []
    return [value for value in values if isinstance(value, dict)]


def _found(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield begin, end and data of the JSON values of a text."""
    plain = text.strip()
    try:
        yield 0, len(text), parse_json(plain)
        return
    except (ValueError, RecursionError):
        pass
    blocks = list(_fenced(text))
    if blocks:
        yield from blocks
    elif plain[:1] in ("{", "["):
        parts = list(_in_prose(text))
        if parts:
            yield from parts
        else:
            yield from _whole(text)
    else:
        parts = list(_in_prose(text))
        yield from parts or _whole(text)


def _whole(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield the value that begins with the first brace, repaired."""
    begin = _BEGIN.search(text)
    if begin is None:
        return
    end = max(text.rfind("}"), text.rfind("]")) + 1
    for piece in (text[begin.start() : end], text[begin.start() :]):
        try:
            yield begin.start(), begin.start() + len(piece), repair(piece)
        except ValueError:
            continue
        return


def _fenced(text: str) -> Iterator[tuple[int, int, Any]]:
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for first, last in json_blocks([line.rstrip("\r\n") for line in lines]):
        try:
            value = repair("".join(lines[first + 1 : last]))
        except ValueError:
            continue
        yield starts[first], starts[last + 1], value


def _in_prose(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield the valid values within prose, the outermost of each."""
    at = count = 0
    while count < _MAX_VALUES and (begin := _BEGIN.search(text, at)) is not None:
        count += 1
        try:
            value, at = _DECODER.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            return  # the rest may be JSON with a mistake
        yield begin.start(), at, value


def fit(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return data with the types of a JSON schema where another type has one meaning.

    `"3"` and `3.0` become 3, `"true"` becomes true, one object becomes a list of one, a list of one object becomes the
    object. Fields that the schema forbids are left out. All else stays as it is, for the check.

    Args:
        value: JSON data.
        schema: JSON schema; references into its `$defs` are followed.
    """
    return _fit(value, schema, schema, _MAX_DEPTH)


def _fit(value: Any, rule: Any, root: Mapping[str, Any], depth: int) -> Any:
    rule = _resolve(rule, root)
    if not isinstance(rule, Mapping) or depth <= 0:
        return value
    options = [_resolve(option, root) for name in ("anyOf", "oneOf") for option in rule.get(name, ())]
    if isinstance(rule.get("type"), list):
        options = [{**rule, "type": kind} for kind in rule["type"]]
    if options:
        return _fit_option(value, options, root, depth - 1)
    match rule.get("type"):
        case "integer" | "number" | "boolean" as kind:
            return _scalar(value, kind)
        case "array" if isinstance(value, dict | list):
            values = value if isinstance(value, list) else [value]
            return [_fit(item, rule.get("items"), root, depth - 1) for item in values]
        case "object":
            only = value[0] if isinstance(value, list) and len(value) == 1 else value
            return _fit_object(only, rule, root, depth) if isinstance(only, dict) else value
        case _:
            return value


def _fit_option(value: Any, options: Sequence[Any], root: Mapping[str, Any], depth: int) -> Any:
    """Return data with the types of the first option whose type it has, or else can have."""
    matching = [option for option in options if _has_type(value, option)]
    if matching:
        return _fit(value, matching[0], root, depth)
    fitted = (_fit(value, option, root, depth) for option in options)
    return next((changed for changed in fitted if changed is not value), value)


def _fit_object(
    value: dict[str, Any], rule: Mapping[str, Any], root: Mapping[str, Any], depth: int
) -> dict[str, Any]:
    fields = rule.get("properties")
    if not isinstance(fields, Mapping):
        return value
    closed = rule.get("additionalProperties") is False and "patternProperties" not in rule
    return {
        name: _fit(item, fields.get(name), root, depth - 1)
        for name, item in value.items()
        if name in fields or not closed
    }


def _scalar(value: Any, kind: str) -> Any:
    if kind == "integer":
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return int(value)
        if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
            return int(value.strip().partition(".")[0])
    elif kind == "number" and isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return float(value) if {".", "e", "E"} & set(value) else int(value)
    elif kind == "boolean" and isinstance(value, str):
        return _WORDS.get(value.strip().casefold(), value)
    return value


def _resolve(rule: Any, root: Mapping[str, Any]) -> Any:
    """Follow a reference into the schema itself."""
    for _ in range(8):
        if not (isinstance(rule, Mapping) and isinstance(rule.get("$ref"), str)):
            return rule
        target: Any = root
        for name in rule["$ref"].removeprefix("#/").split("/"):
            target = target.get(name) if isinstance(target, Mapping) else None
        rule = target
    return rule


_TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


def _has_type(value: Any, rule: Any) -> bool:
    kind = rule.get("type") if isinstance(rule, Mapping) else None
    if not isinstance(kind, str) or kind not in _TYPES:
        return kind is None
    return isinstance(value, _TYPES[kind]) and (not isinstance(value, bool) or kind == "boolean")
