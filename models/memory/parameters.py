"""Parameters of services: their types, and checks of names, values, users and rooms.

Reading corrects only what is certain (`"2"` for the number 2, `Business` for the choice `business`);
anything else is refused by name, with the rule.

Source: dialog state document, section 3 ("Parameter Schema by Service").
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import cast

from pydantic import JsonValue

from ..errors import InvalidInput
from .masking import mask

#: Characters of a parameter's name.
MAX_NAME = 64
#: Characters of a user's or a room's id.
MAX_ID = 200
#: Levels of lists and objects in one value.
MAX_DEPTH = 16


def is_stated(value: object) -> bool:
    """Return False for `None`, `""`, `[]` and `{}`, which mean "not said"; `0` and `False` are values."""
    return value is not None and not (isinstance(value, str | list | tuple | dict) and not value)


def to_compact_json(value: object) -> str:
    """Return JSON without blanks, in the characters as they are.

    Raises:
        ValueError: JSON cannot represent the value.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def size_bytes(text: str) -> int:
    """Return bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def check_name(name: object) -> str:
    """Return the name of a parameter.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        raise InvalidInput(
            "name", name, f"must be a parameter name of at most {MAX_NAME} printable characters"
        )
    return name


def check_value(name: str, value: object) -> None:
    """Refuse what cannot be kept as JSON, by the parameter's name.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    if nesting_depth(value, MAX_DEPTH) > MAX_DEPTH:
        raise InvalidInput(name, value, f"must not nest deeper than {MAX_DEPTH} levels")
    try:
        to_compact_json(value).encode()
    except (TypeError, ValueError):
        raise InvalidInput(name, value, "must be valid JSON in UTF-8") from None


def user_key(user_id: object, *, field: str = "user_id") -> str | None:
    """Return the user as part of a key: the id as text; None: no user.

    A colon is refused: user `a:b` in room `c` must not share a key with user `a` in room `b:c`.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    text = _id_text(field, user_id)
    if text is not None and any(mark in text for mark in ":{}"):
        raise InvalidInput(field, text, "must not contain `:`, `{` or `}`")
    return text


def room_key(room_id: object, *, field: str = "room_id") -> str | None:
    """Return the room as part of a key; None: no room.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    return _id_text(field, room_id)


def _id_text(field: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    match value:
        case str():
            text = value
        # Python refuses to print a number of thousands of digits.
        case int() if not isinstance(value, bool) and abs(value) < 10**MAX_ID:
            text = str(value)
        case _:
            text = ""
    if not 0 < len(text) <= MAX_ID or not text.isprintable():
        rule = f"must be a number, or text of at most {MAX_ID} printable characters"
        raise InvalidInput(field, value, rule)
    return text


def nesting_depth(value: object, limit: int) -> int:
    """Return levels of a value; one that is deeper than `limit` counts as one more."""
    if limit < 0 or not isinstance(value, Mapping | list | tuple):
        return 0
    parts = value.values() if isinstance(value, Mapping) else value
    return 1 + max((nesting_depth(part, limit - 1) for part in parts), default=0)


_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_DIGITS = re.compile(r"[+-]?\d{1,18}")


class ParameterKind(StrEnum):
    """Types of parameters."""

    TEXT = "text"
    #: `YYYY-MM-DD`
    DATE = "date"
    #: `HH:MM`
    TIME = "time"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    #: One of `choices`.
    CHOICE = "choice"
    #: A list of texts.
    TEXTS = "texts"
    OBJECT = "object"
    #: Any JSON.
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a service."""

    name: str
    kind: ParameterKind = ParameterKind.TEXT
    #: Agents ask for it until it is known.
    required: bool = False
    #: Of a CHOICE.
    choices: tuple[str, ...] = ()
    #: Shown masked, with any name.
    private: bool = False
    #: A value as a user states it, for the prompts of models.
    example: str = ""

    def __post_init__(self) -> None:
        check_name(self.name)
        if (self.kind is ParameterKind.CHOICE) != bool(self.choices):
            raise InvalidInput(
                f"{self.name}.choices",
                self.choices,
                "is required for kind `choice`, and not allowed for other kinds",
            )

    def read(self, value: object) -> JsonValue:
        """Return `value` as this parameter's type.

        Args:
            value: The value.

        Raises:
            InvalidInput: A value of the wrong type. The error shows a private value masked.
        """
        check_value(self.name, value)
        read, rule = _READERS[self.kind]
        parsed = read(self, value)
        if parsed is None:
            offered = (
                mask(self.name, value, private=self.private)
                if isinstance(value, str | int | float)
                else value
            )
            raise InvalidInput(self.name, offered, rule or f"must be one of {', '.join(self.choices)}")
        return parsed


def _text(_parameter: Parameter, value: object) -> JsonValue:
    if isinstance(value, str):
        return value
    # A number in the place of a text: a telephone number, for example.
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _date(_parameter: Parameter, value: object) -> JsonValue:
    try:
        return date.fromisoformat(value).isoformat() if isinstance(value, str) and len(value) == 10 else None
    except ValueError:
        return None


def _time(_parameter: Parameter, value: object) -> JsonValue:
    return value if isinstance(value, str) and _TIME.fullmatch(value) else None


def _integer(_parameter: Parameter, value: object) -> JsonValue:
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case str() if _DIGITS.fullmatch(value.strip()):
            return int(value)
        case _:
            return None


def _boolean(_parameter: Parameter, value: object) -> JsonValue:
    if isinstance(value, str):
        return {"true": True, "false": False, "yes": True, "no": False}.get(value.strip().casefold())
    return value if isinstance(value, bool) else None


def _choice(parameter: Parameter, value: object) -> JsonValue:
    wanted = value.strip().casefold() if isinstance(value, str) else None
    return next((choice for choice in parameter.choices if choice.casefold() == wanted), None)


def _texts(_parameter: Parameter, value: object) -> JsonValue:
    if isinstance(value, str):
        return [value]
    is_list = isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)
    return list(value) if is_list and isinstance(value, list | tuple) else None


def _object(_parameter: Parameter, value: object) -> JsonValue:
    return dict(value) if isinstance(value, Mapping) else None


def _any(_parameter: Parameter, value: object) -> JsonValue:
    return cast("JsonValue", value)  # `check_value` has seen that it is


#: Reader and rule of each type; a reader answers None for what does not fit.
_READERS: dict[ParameterKind, tuple[Callable[[Parameter, object], JsonValue], str]] = {
    ParameterKind.TEXT: (_text, "must be text"),
    ParameterKind.DATE: (_date, "must be a date, YYYY-MM-DD"),
    ParameterKind.TIME: (_time, "must be a time of day, HH:MM"),
    ParameterKind.INTEGER: (_integer, "must be a whole number"),
    ParameterKind.BOOLEAN: (_boolean, "must be true or false"),
    ParameterKind.CHOICE: (_choice, ""),
    ParameterKind.TEXTS: (_texts, "must be a list of strings"),
    ParameterKind.OBJECT: (_object, "must be an object of names and values"),
    ParameterKind.ANY: (_any, "must be JSON"),
}
