"""Keywords of JSON Schema whose cost is bounded, whatever schema and data a session brings.

jsonschema checks `pattern` with `re`, whose time may grow exponentially, and `uniqueItems` in quadratic time. It
follows references as often as a schema says, which may be exponential as well, and it may load a schema from the
network. Here patterns run in linear time, the number of checks is limited (a check of a long list, table or text
counts as several), and no reference leaves the document.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import uuid
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic import ValidationError as PydanticError

from .extras import Needed
from .text.patterns import compile_pattern

with Needed("a session with an output schema"):
    from jsonschema import Draft7Validator, Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend

#: Accepted values of `$schema`; None: it is absent.
DIALECTS: dict[str | None, Any] = {
    None: Draft202012Validator,
    "https://json-schema.org/draft/2020-12/schema": Draft202012Validator,
    "http://json-schema.org/draft-07/schema": Draft7Validator,
}
#: Keywords whose cost cannot be limited, or that may leave the document.
UNSUPPORTED = (
    "patternProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
    "$recursiveRef",
)
#: Types of the formats that are checked; other formats describe only.
_FORMATS: dict[str, Any] = {
    "date": datetime.date,
    "date-time": datetime.datetime,
    "time": datetime.time,
    "duration": datetime.timedelta,
    "uuid": uuid.UUID,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
}

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


class TooManyChecks(Exception):
    """The value needs more checks than are left."""


#: Number of checks that are left for the value that is being checked.
checks_left: ContextVar[int] = ContextVar("checks_left", default=0)
#: Entries of a list or a table that count as one check: those that a keyword passes on to a schema, and others.
_PASSED_ON = 2
_ENTRIES = 8
#: Characters of a message, or of an item that must be unique, that count as one check.
_CHARACTERS = 100
#: Keywords that pass each entry of a value on to a schema.
_FOR_EACH = frozenset({"items", "additionalItems", "contains", "additionalProperties", "propertyNames"})
#: Keywords that take the same time for every value.
_CONSTANT_TIME = frozenset(
    {"type", "minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength"}
)


@cache
def validator_class(dialect: str | None) -> Any:
    """Return jsonschema's validator class of a dialect, with bounded keywords."""
    base_class = DIALECTS[dialect]
    keywords = {**base_class.VALIDATORS, "pattern": _pattern, "uniqueItems": _unique_items, "format": _format}
    # An unsupported keyword is refused before; if it ever came through, its cost would have no limit.
    checks = {name: _ignore if name in UNSUPPORTED else _counted(name, keywords[name]) for name in keywords}
    return extend(base_class, checks)


def _counted(name: str, check: Keyword) -> Keyword:
    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        length = 0 if name in _CONSTANT_TIME else _length(value) + _length(instance)
        _count(1 + length // (_PASSED_ON if name in _FOR_EACH else _ENTRIES))
        for error in check(validator, value, instance, schema) or ():
            _count(len(error.message) // _CHARACTERS)  # the message contains the instance
            yield error

    return counted


def _ignore(_validator: Any, _value: Any, _instance: Any, _schema: Any) -> None:
    return None


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list | dict | str) else 0


def _count(checks: int) -> None:
    left = checks_left.get()
    if left < checks:
        raise TooManyChecks
    checks_left.set(left - checks)


def _pattern(_validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _passes(compile_pattern(pattern).validate_python, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _unique_items(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if wanted and isinstance(instance, list):
        different = set()
        for item in instance:
            text = json.dumps(_comparable(item), sort_keys=True)
            _count(1 + len(text) // _CHARACTERS)
            different.add(text)
        if len(different) < len(instance):
            yield ValidationError("has items that are equal")


def _comparable(data: Any) -> Any:
    """Return data in which equal numbers are written alike: 1.0 is 1."""
    if isinstance(data, dict):
        return {name: _comparable(value) for name, value in data.items()}
    if isinstance(data, list):
        return [_comparable(value) for value in data]
    return int(data) if isinstance(data, float) and data.is_integer() else data


def _format(_validator: Any, name: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    kind = _FORMATS.get(name) if isinstance(name, str) and isinstance(instance, str) else None
    if kind is not None and not _passes(_adapter(kind).validate_python, instance):
        yield ValidationError(f"{instance!r} is not a {name!r}")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _passes(check: Callable[[Any], object], instance: Any) -> bool:
    try:
        check(instance)
    except PydanticError:
        return False
    return True
