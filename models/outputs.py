"""The output that a session must have: its JSON schema, its speaker, and its progress. Pure.

The turns in which the output is required:

- a turn after which the session certainly ends, such as the last one of `max_rounds`;
- the closing turn: it is planned when the session would end otherwise without an output.

In these turns the speaker is held to the schema. In its other turns the speaker may give the output, too, such
as an orchestrator in the decision that ends the session: then no closing turn is needed.

A schema is checked when it is submitted. jsonschema is imported where it is used: nearly all sessions have no schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

from pydantic import BaseModel, JsonValue
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from .errors import InvalidInput
from .text.json_text import depth_of, dump_json, parse_json, read_json, to_json_data
from .text.lax_json import fit, read_one
from .text.patterns import compile_pattern
from .text.redact import excerpt
from .turns.frozen import Frozen
from .turns.turn import OutcomeKind, TurnOutcome, TurnResult

#: Maximum bytes and depth of a schema.
MAX_BYTES = 65_536
MAX_DEPTH = 64
#: Maximum number of faults of a value that are reported, and characters of each.
MAX_FAULTS = 10
MAX_FAULT = 300
#: Maximum number of keyword checks of one value, at most a few seconds of processor time.
MAX_CHECKS = 200_000
#: Values with which a schema is tried, and the maximum number of checks of each, to find a schema without an end.
_TRIAL_CHECKS = 20_000
_TRIALS: tuple[JsonValue, ...] = (None, True, 0, "", [], {}, [{}], {"": []})
_IDENTITY = ("$id", "$schema")
#: Keywords whose tables have names as keys, and keywords whose values are data.
_HOLDS_NAMES = ("properties", "$defs", "definitions", "dependentSchemas", "dependentRequired", "dependencies")
_PLAIN_DATA = ("const", "enum", "default", "examples")

Schema = dict[str, Any]


def read_schema(output: type[BaseModel] | Mapping[str, Any]) -> Schema:
    """Return the schema of a pydantic model class, or the given JSON schema, checked.

    Raises:
        InvalidInput: One line with the place in the schema, the value and the rule.
    """
    if isinstance(output, type) and issubclass(output, BaseModel):
        try:
            given: Any = output.model_json_schema()
        except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
            reason = f"must be a model with a JSON schema: {excerpt(error.message)}"
            raise InvalidInput("output", output.__name__, reason) from None
    elif isinstance(output, Mapping):
        given = _copy(output)
    else:
        raise InvalidInput("output", output, "must be a pydantic model class or a JSON schema (a table)")
    _check_schema(given)
    return given  # type: ignore[no-any-return]


def find_faults(schema: Schema, value: JsonValue) -> tuple[str, ...]:
    """Return what is wrong with a value, one line each with its place; empty: it is valid."""
    return _find_faults(schema, value, _describe)


def find_broken_rules(schema: Schema, value: JsonValue) -> tuple[str, ...]:
    """Return the rules of a schema that a value breaks, one line each, without text of the value."""
    return _find_faults(schema, value, _describe_rule)


def _find_faults(schema: Schema, value: JsonValue, describe: Callable[[Any], str]) -> tuple[str, ...]:
    from .schema_keywords import TooManyChecks

    try:
        return _check(schema, value, max_checks=MAX_CHECKS, describe=describe)
    except TooManyChecks:
        return (f"$: needs more than {MAX_CHECKS:,} checks",)
    except RecursionError:
        return ("$: is nested too deep for this schema",)


def _describe(error: Any) -> str:
    return f"{error.json_path}: {excerpt(error.message, MAX_FAULT)}"


def _describe_rule(error: Any) -> str:
    location = ".".join(map(str, error.absolute_schema_path))
    return f"{location}: {excerpt(dump_json(error.validator_value), MAX_FAULT)}"


def _check(
    schema: Schema, value: JsonValue, *, max_checks: int, describe: Callable[[Any], str] = _describe
) -> tuple[str, ...]:
    """Return what is wrong with a value. Raises TooManyChecks, RecursionError."""
    from .schema_keywords import checks_left

    token = checks_left.set(max_checks)
    try:
        return tuple(_messages(_validator(dump_json(schema)), value, describe))
    finally:
        checks_left.reset(token)


def _messages(validator: Any, value: JsonValue, describe: Callable[[Any], str]) -> Iterator[str]:
    for count, error in enumerate(validator.iter_errors(value)):
        if count == MAX_FAULTS:
            yield "and more"
            return
        yield describe(error)


@lru_cache(maxsize=64)
def _validator(text: str) -> Any:
    """Return the validator of a schema, which looks up no reference outside of it."""
    from referencing import Registry

    from .schema_keywords import validator_class

    schema = parse_json(text)
    plain = {name: value for name, value in schema.items() if name not in _IDENTITY}
    return validator_class(_dialect(schema))(plain, registry=Registry())


def _copy(schema: Mapping[str, Any]) -> Schema:
    try:
        return to_json_data(dict(schema))  # type: ignore[no-any-return]
    except ValueError as error:
        raise InvalidInput("output", schema, excerpt(str(error))) from None


def _dialect(schema: Schema) -> str | None:
    dialect: Any = schema.get("$schema")
    return dialect.removesuffix("#") if isinstance(dialect, str) else dialect


def _check_schema(schema: Schema) -> None:
    from .schema_keywords import DIALECTS

    if depth_of(schema) > MAX_DEPTH:
        raise InvalidInput("output", schema, f"must not nest tables and lists deeper than {MAX_DEPTH} levels")
    try:
        json.dumps(schema, allow_nan=False)
    except ValueError:
        raise InvalidInput("output", schema, "must contain no number that is infinite or NaN") from None
    try:
        size = len(dump_json(schema).encode())
    except UnicodeEncodeError:  # a lone surrogate
        raise InvalidInput("output", schema, "must be valid UTF-8 text") from None
    if size > MAX_BYTES:
        raise InvalidInput("output", f"{size} bytes", f"must be at most {MAX_BYTES} bytes of JSON")
    dialect = _dialect(schema)
    if dialect not in [*DIALECTS]:  # it may be of any type
        raise InvalidInput("output.$schema", dialect, "must be draft 2020-12 or draft-07, or absent")
    _check_part(schema, dialect, ())
    _check_references(schema, dialect)


def _check_part(part: Any, dialect: str | None, path: Sequence[str | int]) -> None:
    """Check a schema, or the part of one to which a reference points, at its place."""
    from jsonschema.exceptions import SchemaError

    from .schema_keywords import DIALECTS

    for inside, name, value in _entries(part, ()):
        _check_keyword((*path, *inside), name, value)
    try:
        DIALECTS[dialect].check_schema(part)
    except SchemaError as error:
        rule = f"must be a JSON schema: {excerpt(error.message)}"
        raise InvalidInput(_field([*path, *error.path]), error.instance, rule) from None


def _entries(
    data: Any, path: Sequence[str | int], *, holds_names: bool = False
) -> Iterator[tuple[Sequence[str | int], str, Any]]:
    """Yield every keyword of a schema with its value and its place; the depth is limited before.

    Args:
        data: The schema, or a part of it.
        path: Its place.
        holds_names: The keys of `data` are names of properties or definitions, which may look like keywords.
    """
    if isinstance(data, list):
        for index, value in enumerate(data):
            yield from _entries(value, (*path, index))
    elif isinstance(data, dict):
        for name, value in data.items():
            if not holds_names:
                yield path, name, value
            if holds_names or name not in _PLAIN_DATA:
                inner_names = not holds_names and name in _HOLDS_NAMES
                yield from _entries(value, (*path, name), holds_names=inner_names)


def _check_keyword(path: Sequence[str | int], name: str, value: Any) -> None:
    """Refuse a keyword that is not supported."""
    from .schema_keywords import UNSUPPORTED

    field = _field([*path, name])
    if name in UNSUPPORTED:
        raise InvalidInput(field, value, "is not supported")
    if not isinstance(value, str):
        return
    if name == "$ref" and not value.startswith("#"):
        raise InvalidInput(field, value, "must start with `#`: a reference cannot leave the schema")
    if name in _IDENTITY and path:
        raise InvalidInput(field, value, "is not supported below the top of the schema")
    if name == "pattern":
        try:
            compile_pattern(value)
        except ValueError as error:
            raise InvalidInput(field, value, str(error)) from None


def _check_references(schema: Schema, dialect: str | None) -> None:
    """Refuse references to what is no schema, and those with which no check ends."""
    from .schema_keywords import TooManyChecks

    resolver = _validator(dump_json(schema))._resolver  # noqa: SLF001 - there is no other way to look up a reference
    parts: list[tuple[Sequence[str | int], Any]] = [((), schema)]
    checked_references = {"#"}
    while parts:
        path, part = parts.pop()
        for inside, name, value in _entries(part, ()):
            if name == "$ref" and isinstance(value, str) and value not in checked_references:
                checked_references.add(value)
                location = (*path, *inside, name)
                # A reference may point to what is no schema in its own place, such as plain data.
                target = _look_up(resolver, value, location)
                _check_part(target, dialect, location)
                parts.append((location, target))
    for value in _TRIALS:
        try:
            _check(schema, value, max_checks=_TRIAL_CHECKS)
        except (TooManyChecks, RecursionError):
            rule = "must not refer to itself without an end ($ref)"
            raise InvalidInput("output", schema, rule) from None


def _look_up(resolver: Any, reference: str, location: Sequence[str | int]) -> Any:
    from referencing.exceptions import Unresolvable

    try:
        return resolver.lookup(reference).contents
    except (Unresolvable, LookupError, TypeError, ValueError):
        raise InvalidInput(_field(location), reference, "must be a place in the schema") from None


def _field(path: Sequence[str | int]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "output" + "".join(steps)


NO_JSON = "$: neither the answer nor a block of code in it is JSON"


class RequiredOutput(Frozen):
    """The output that a session must have."""

    json_schema: dict[str, JsonValue]
    #: Participant id of its speaker; None: the speaker of the last turn.
    by: str | None = None

    def may_come_from(self, participant: str) -> bool:
        """Return whether a participant may give the output.

        Args:
            participant: Its id.
        """
        return self.by in (None, participant)

    def find_faults(self, value: JsonValue) -> tuple[str, ...]:
        """Return what is wrong with a value, one line each; empty: it is a valid output."""
        return find_faults(self.json_schema, value)

    def read(self, outcome: TurnOutcome) -> tuple[TurnOutcome, tuple[str, ...]]:
        """Return the outcome with its data, read from its text if it has none, and what is wrong with it."""
        if outcome.output is not None:
            return outcome, self.find_faults(outcome.output)
        text = outcome.messages[-1].content if outcome.messages else ""
        try:
            value = read_json(text)
        except ValueError:
            try:
                value = read_one(text)
            except ValueError:
                return outcome, (NO_JSON,)
        faults = self.find_faults(value)
        if faults and not self.find_faults(fitted := fit(value, self.json_schema)):
            value, faults = fitted, ()
        return outcome.model_copy(update={"output": value}), faults


class SessionEnd(Frozen):
    """Reason of an end that waits for the closing turn."""

    reason: str
    detail: str = ""


class OutputProgress(Frozen):
    """Progress of the output of a session, stored with the state of its stop conditions."""

    #: Number of the turn that gave the output; None: there is none.
    turn: int | None = None
    #: Participant of the newest turn with a message.
    speaker: str | None = None
    #: Whether a turn in which the output is required was planned.
    required: bool = False
    #: Why the session ends after the closing turn; None: it was not planned.
    end: SessionEnd | None = None

    def after(self, results: Iterable[TurnResult], rule: RequiredOutput) -> Self:
        """Return the progress after these closed turns: a later message of the speaker replaces its output."""
        turn, speaker = self.turn, self.speaker
        for result in results:
            if result.kind is not OutcomeKind.MESSAGE:
                continue
            speaker = result.participant
            if result.has_output:
                turn = result.number
            elif rule.may_come_from(speaker):
                turn = None
        return self.model_copy(update={"turn": turn, "speaker": speaker})
