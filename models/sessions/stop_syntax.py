"""Stop conditions as people write them in session files.

stop: {max_rounds: 3, text: DONE}           any of them
stop: {all: [{max_turns: 4}, {text: DONE}]} all of them
stop: {kind: any, conditions: [...]}        the form in which they are stored
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, get_args

from pydantic import ValidationError

from ..errors import InvalidInput, invalid_input
from ..text.nearest import did_you_mean
from .stop_conditions import STOP_CONDITION, AllOf, AnyOf, RoundOfPasses, StopCondition, TextSeen

MAX_LEAVES = 64
MAX_DEPTH = 8

#: Conditions by the names of their short forms.
_KINDS: dict[str, type[Any]] = {kind.key: kind for kind in get_args(get_args(StopCondition)[0]) if kind.key}
#: Names of the fields of all conditions without parts.
_FIELDS = {
    field.name for kind in _KINDS.values() if not issubclass(kind, AnyOf | AllOf) for field in fields(kind)
}


def read_stop(data: object, *, field: str = "stop") -> StopCondition:
    """Read the condition in `data`; `field` is its path, for the message.

    Raises:
        InvalidInput: Names the field, its value and the rule it breaks.
    """
    condition = _read(data, field, MAX_DEPTH)
    check_size(condition, field=field)
    return condition


def check_size(condition: StopCondition, *, field: str = "stop") -> None:
    """Raise InvalidInput for more than `MAX_LEAVES` conditions, or nesting deeper than `MAX_DEPTH`."""
    leaves = sum(1 for _ in condition.leaves())
    if leaves > MAX_LEAVES:
        raise InvalidInput(field, f"{leaves} conditions", f"must have at most {MAX_LEAVES} conditions")
    if (depth := condition.depth()) > MAX_DEPTH:
        raise InvalidInput(field, f"{depth} levels", f"must nest at most {MAX_DEPTH} levels deep")


def _read(data: object, field: str, depth: int) -> StopCondition:
    if not isinstance(data, Mapping) or not data:
        raise InvalidInput(field, data, "must be a table such as {max_rounds: 3, text: DONE}")
    if depth < 0:
        raise InvalidInput(field, data, f"must nest at most {MAX_DEPTH} levels deep")
    if "kind" in data:
        return _checked(field, lambda: STOP_CONDITION.validate_python(dict(data)), inside=True)
    parts = [_entry(str(key), value, f"{field}.{key}", depth) for key, value in data.items()]
    return parts[0] if len(parts) == 1 else _checked(field, lambda: AnyOf(tuple(parts)))


def _entry(key: str, value: object, field: str, depth: int) -> StopCondition:
    kind = _KINDS.get(key)
    if kind is None:
        near, known_keys = did_you_mean(key, _KINDS), ", ".join(_KINDS)
        raise InvalidInput(field, value, f"is not a stop condition{near}; known: {known_keys}")
    if kind is TextSeen:
        return _text(value, field)
    if kind is RoundOfPasses:
        if value is not True:
            raise InvalidInput(field, value, "must be true, or omitted")
        return RoundOfPasses()
    if not issubclass(kind, AnyOf | AllOf):
        return _checked(field, lambda: kind(value))
    if not isinstance(value, list | tuple) or not value:
        raise InvalidInput(field, value, "must be a list of conditions")
    parts = tuple(_read(part, f"{field}[{i}]", depth - 1) for i, part in enumerate(value))
    return _checked(field, lambda: kind(parts))


def _text(value: object, field: str) -> StopCondition:
    """Read `DONE`, or `{text: DONE, by: lead, ignore_case: false}`."""
    if isinstance(value, Mapping):
        given: dict[str, Any] = {str(name): item for name, item in value.items()}
        return _checked(field, lambda: TextSeen(**given), inside=True)
    if not isinstance(value, str):
        raise InvalidInput(field, value, "must be text, or a table {text: ..., by: ..., ignore_case: ...}")
    return _checked(field, lambda: TextSeen(value))


def _checked(field: str, build: Callable[[], StopCondition], *, inside: bool = False) -> StopCondition:
    """Return the result of `build`; an error names `field`, or with `inside` the field within it."""
    try:
        return build()
    except ValidationError as error:
        problem = invalid_input(error)
        first = error.errors()[0]
        if first["type"] == "unexpected_keyword_argument":
            problem.rule = f"is not a known field{did_you_mean(str(first['loc'][-1]), _FIELDS)}"
        if not inside:
            problem.field = ""
        raise problem.within(field) from None
