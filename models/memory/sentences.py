"""Parsers: what turns a user's sentence into parameters; the registered one, and the request to a model. Pure.

    def parse(sentence):
        if "business class" in sentence.text.casefold():
            return {"cabin_class": "business"}

    register_parser(parse)      # or ModelParser("trip_parser"): an agent of the agents file

A parser gets what is known, so that it reads "to the same person" or "on Friday" as the user means it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias, TypeVar

from pydantic import JsonValue, ValidationError

from ..errors import InvalidInput, invalid_input
from .forms import ServiceForm
from .learned import Learned
from .parameters import ParameterKind, is_stated
from .recall import MemoryView


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a user said, with what is known."""

    text: str
    #: What the user stated before, and the services of the session with their parameters.
    memory: MemoryView
    #: The day on which it is read, in UTC.
    today: date


#: What a parser returns: parameters by name, `Learned` for more than these, or None for no parameters.
Parsed: TypeAlias = Learned | Mapping[str, Any] | None
ParserFunction: TypeAlias = Callable[[Sentence], Parsed | Awaitable[Parsed]]


@dataclass(frozen=True, slots=True)
class ModelParser:
    """A parser that is a registered agent, such as a model; a worker asks it when the session's first turn begins."""

    agent: str

    def __post_init__(self) -> None:
        if not str(self.agent or "").strip():
            raise InvalidInput("agent", self.agent, "must be the name of a registered agent")


Parser: TypeAlias = ParserFunction | ModelParser
P = TypeVar("P", bound=Parser)

_registered: list[Parser] = []


def register_parser(parser: P) -> P:
    """Register what turns users' sentences into parameters, in this process; it replaces an earlier parser.

    Call it in a module of the agents file, so that workers have it. May be used as a decorator.

    Args:
        parser: A function, sync or async, of a `Sentence`; or a `ModelParser`.

    Returns:
        The same parser.

    Raises:
        InvalidInput: It is neither.
    """
    if not isinstance(parser, ModelParser) and not callable(parser):
        raise InvalidInput("parser", parser, "must be a function of a Sentence, or a ModelParser")
    _registered[:] = [parser]
    return parser


def registered_parser() -> Parser | None:
    """Return the parser of this process; None: none was registered."""
    return _registered[0] if _registered else None


def read_parsed(parsed: object) -> Learned:
    """Return what a parser found.

    Raises:
        InvalidInput: It is neither `Learned`, nor parameters by name, nor None.
    """
    match parsed:
        case None:
            return Learned()
        case Learned():
            return parsed
        case Mapping():
            try:
                return Learned(parameters=dict(parsed))
            except ValidationError as error:
                raise invalid_input(error) from None
        case _:
            raise InvalidInput("parser", parsed, "must return parameters by name, a Learned, or None")


def read_model_answer(data: object) -> Learned:
    """Return what a model found: `{"service": ..., "set": {...}, "forget": [...]}`, or parameters by name.

    Raises:
        InvalidInput: It has another form.
    """
    if not isinstance(data, Mapping):
        raise InvalidInput("answer", data, "must be an object with service, set and forget")
    rest = {name: value for name, value in data.items() if name not in ("service", "set", "forget")}
    stated, forget = data.get("set", rest), data.get("forget") or ()
    if isinstance(stated, Mapping | None):
        stated = {name: value for name, value in (stated or {}).items() if is_stated(value)}
    answer: dict[str, Any] = {
        "service": data.get("service") or None,
        "parameters": stated,
        "forget": (forget,) if isinstance(forget, str) else forget,
    }
    return Learned(**answer)


_JSON_TYPES: dict[ParameterKind, dict[str, JsonValue]] = {
    ParameterKind.TEXT: {"type": "string"},
    ParameterKind.DATE: {"type": "string", "description": "date as YYYY-MM-DD"},
    ParameterKind.TIME: {"type": "string", "description": "time as HH:MM"},
    ParameterKind.INTEGER: {"type": "integer"},
    ParameterKind.BOOLEAN: {"type": "boolean"},
    ParameterKind.TEXTS: {"type": "array", "items": {"type": "string"}},
    ParameterKind.OBJECT: {"type": "object"},
    ParameterKind.ANY: {},
}


def answer_schema(forms: tuple[ServiceForm, ...]) -> dict[str, JsonValue]:
    """Return the JSON schema of a model's answer; a parameter of several services has no type."""
    parameters: dict[str, JsonValue] = {}
    for form in forms:
        for parameter in form.parameters:
            schema: dict[str, JsonValue] = (
                {"enum": list(parameter.choices)} if parameter.choices else _JSON_TYPES[parameter.kind]
            )
            is_same = parameters.get(parameter.name, schema) == schema
            parameters[parameter.name] = schema if is_same else {}
    return {
        "type": "object",
        "properties": {
            "service": {"enum": [*(form.name for form in forms), None]},
            "set": {"type": "object", "properties": parameters},
            "forget": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["set"],
    }
