"""Parsing of records from Redis: written by Symposia, unless another program wrote to the same keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from ...models.errors import CorruptSession, InvalidInput, invalid_input

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

_OBJECT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


def read_stored(kind: type[M], text: str, *, session_id: str, part: str) -> M:
    """Return a record from its JSON; `part` names its place, e.g. `events`. Raises CorruptSession."""
    with converting_to_corrupt(session_id, part):
        return kind.model_validate_json(text)


def read_object(text: str, *, session_id: str, part: str) -> dict[str, JsonValue]:
    """Return a JSON object whose fields are checked by their owner. Raises CorruptSession."""
    with converting_to_corrupt(session_id, part):
        return _OBJECT.validate_json(text)


def read_number(text: str, *, session_id: str, field: str) -> int:
    """Return a whole number from a field of the session. Raises CorruptSession."""
    return read_field(int, text, session_id=session_id, field=field, rule="must be a whole number")


def read_field(kind: Callable[[str], T], text: str, *, session_id: str, field: str, rule: str) -> T:
    """Return a field of the session, converted by `kind`. Raises CorruptSession with the broken rule."""
    try:
        return kind(text)
    except ValueError:
        detail = str(InvalidInput(field, text, rule))
        raise CorruptSession(session_id, part="session", detail=detail) from None


@contextmanager
def converting_to_corrupt(session_id: str, part: str) -> Iterator[None]:
    """Add the place of a record to an error about a broken rule.

    Raises:
        CorruptSession: the block has read an invalid record.
    """
    try:
        yield
    except ValidationError as error:
        raise CorruptSession(session_id, part=part, detail=str(invalid_input(error))) from None
    except InvalidInput as error:
        raise CorruptSession(session_id, part=part, detail=str(error)) from None
