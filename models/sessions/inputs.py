"""Inputs of a session file: their declarations, and the values that a run gives them. Pure.

    inputs:
      - {name: topic, help: What the haiku is about.}
      - {name: lines, type: integer, default: 3}
    purpose: Write {lines} lines about {topic}.

`input_texts.py` puts the values in the texts of the file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Self, TypeAlias, cast

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError, model_validator

from ..errors import InvalidInput, invalid_input
from ..protocol.base import Text
from ..text.redact import ABSENT
from ..turns.frozen import Frozen

#: Value of an input.
InputValue: TypeAlias = StrictBool | StrictInt | StrictFloat | StrictStr

#: Field of a session file with the declarations.
FIELD = "inputs"
#: Names of the inputs in messages, if there is none.
NO_NAME = "none"
#: Maximum inputs of a file.
MAX_INPUTS = 100
#: Maximum characters of a value.
MAX_CHARS = 32_768
#: Integers have at most 18 digits, as in session files.
_MAX_INTEGER = 10**18 - 1
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?([0-9]{1,18}(\.[0-9]{0,100})?|\.[0-9]{1,100})([eE][-+]?[0-9]{1,3})?")
_BOOLEANS = {"true": True, "false": False}


class InputType(StrEnum):
    """Type of the values of an input."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"


_RULES = {
    InputType.STRING: f"must be UTF-8 text of at most {MAX_CHARS} characters",
    InputType.INTEGER: "must be an integer of at most 18 digits",
    InputType.NUMBER: "must be a finite number; integers have at most 18 digits",
    InputType.BOOLEAN: "must be true or false",
}


class SessionInput(Frozen):
    """Declaration of one input of a session file."""

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)
    type: InputType = InputType.STRING
    #: The only values; empty: any value of the type.
    choices: tuple[InputValue, ...] = Field(default=(), max_length=100)
    #: Value if none is given; None: a value is required.
    default: InputValue | None = None
    help: Annotated[Text, Field(max_length=500)] = ""

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        for index, choice in enumerate(self.choices):
            _check_type(self.type, choice, f"choices[{index}]")
        if self.default is not None:
            self.check(self.default, "default")
        return self

    def check(self, value: object, where: str) -> InputValue:
        """Return a value that keeps the rules of this input.

        Raises:
            InvalidInput: The value breaks a rule; its field is `where`.
        """
        checked = _check_type(self.type, value, where)
        if self.choices and checked not in self.choices:
            raise InvalidInput(where, value, f"must be one of {', '.join(map(render_value, self.choices))}")
        return checked

    def read_text(self, text: str) -> InputValue:
        """Return the value that a text of a command line means; a text that is no value of the type as it is."""
        if self.type is InputType.INTEGER and _INTEGER.fullmatch(text):
            return int(text)
        if self.type is InputType.NUMBER and _NUMBER.fullmatch(text):
            return int(text) if _INTEGER.fullmatch(text) else float(text)
        if self.type is InputType.BOOLEAN:
            return _BOOLEANS.get(text, text)
        return text


def _check_type(kind: InputType, value: object, where: str) -> InputValue:
    if not _has_type(kind, value):
        raise InvalidInput(where, value, _RULES[kind])
    return cast("InputValue", value)


def _has_type(kind: InputType, value: object) -> bool:
    match kind:
        case InputType.STRING:
            return isinstance(value, str) and len(value) <= MAX_CHARS and _is_utf8(value)
        case InputType.BOOLEAN:
            return isinstance(value, bool)
        case InputType.NUMBER if isinstance(value, float):
            return math.isfinite(value)
        case _:
            return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MAX_INTEGER


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def render_value(value: InputValue) -> str:
    """Return a value as it appears in texts."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_inputs(document: Mapping[str, Any]) -> tuple[SessionInput, ...]:
    """Return the inputs that a session file declares.

    Raises:
        InvalidInput: A declaration breaks a rule.
    """
    if FIELD not in document:
        return ()
    entries = document[FIELD]
    if not isinstance(entries, list):
        raise InvalidInput(FIELD, entries, "must be a list of tables with `name`")
    if len(entries) > MAX_INPUTS:
        raise InvalidInput(FIELD, len(entries), f"must have at most {MAX_INPUTS} items")
    declared_inputs: dict[str, SessionInput] = {}
    for index, entry in enumerate(entries):
        declared = _read_input(entry, f"{FIELD}[{index}]")
        if declared.name in declared_inputs:
            raise InvalidInput(f"{FIELD}[{index}].name", declared.name, "must be the name of one input only")
        declared_inputs[declared.name] = declared
    return tuple(declared_inputs.values())


def _read_input(entry: object, where: str) -> SessionInput:
    if not isinstance(entry, Mapping):
        raise InvalidInput(where, entry, "must be a table with `name`")
    try:
        return SessionInput.model_validate(dict(entry))
    except ValidationError as error:
        raise invalid_input(error, where) from None
    except InvalidInput as error:
        raise error.within(where) from None


def choose_values(inputs: Collection[SessionInput], given: object) -> dict[str, InputValue]:
    """Return the value of each input: the given one, or the default.

    Args:
        inputs: What the file declares.
        given: Values by name. None: no values.

    Raises:
        InvalidInput: A value is unknown, missing, or breaks a rule of its input.
    """
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise InvalidInput(FIELD, given, "must be a table of values by name")
    declared_names = {declared.name for declared in inputs}
    for name, value in given.items():
        if name not in declared_names:
            rule = f"must be an input of the session file (known: {', '.join(known_names(inputs))})"
            raise InvalidInput(f"{FIELD}.{str(name)[:64]}", value, rule)
    return {declared.name: _choose(declared, given) for declared in inputs}


def _choose(declared: SessionInput, given: Mapping[str, object]) -> InputValue:
    where = f"{FIELD}.{declared.name}"
    if declared.name in given:
        return declared.check(given[declared.name], where)
    if declared.default is None:
        meaning = f": {declared.help}" if declared.help else ""
        raise InvalidInput(where, ABSENT, f"is required, of type {declared.type}{meaning}")
    return declared.default


def known_names(inputs: Iterable[SessionInput]) -> tuple[str, ...]:
    """Return the names of inputs, for a message."""
    return tuple(declared.name for declared in inputs) or (NO_NAME,)
