"""Base of the protocol objects: immutable, closed to unknown fields, written in the form of their schema.

The types here keep what cannot be written out of the objects: text that UTF-8 cannot
carry, numbers that JSON does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue, StringConstraints, ValidationError
from pydantic_core import from_json, to_json

from ..errors import InvalidInput, invalid_input
from .repairs import with_nearest_form

Element = TypeVar("Element")


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _encodable(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        to_json(value)
    except ValueError:
        raise ValueError("must be valid UTF-8 text") from None
    return value


#: Text. The constraint has pydantic refuse lone surrogates, which a bare `str` lets through.
Text = Annotated[str, StringConstraints(min_length=0)]

#: Text with something to read in it.
NonBlank = Annotated[Text, AfterValidator(_not_blank)]

#: A JSON object of any content.
JsonObject = Annotated[dict[str, JsonValue], AfterValidator(_encodable)]

if TYPE_CHECKING:
    #: Takes a list or a tuple, keeps a tuple.
    Many: TypeAlias = Sequence[Element]
else:
    Many = tuple[Element, ...]


class ProtocolObject(BaseModel):
    """Base of the protocol objects.

    Raises:
        InvalidInput: on construction, for the first field that breaks a rule.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    #: Fields the schema requires though the constructor has a default for them.
    REQUIRED: ClassVar[frozenset[str]] = frozenset()

    if not TYPE_CHECKING:  # type checkers see the fields instead

        def __init__(self, /, **data: Any) -> None:
            try:
                super().__init__(**data)
            except ValidationError as error:
                raise _to_invalid_input(error, data) from None

        # Objects inside this one are still validated by pydantic itself, so that a path is kept whole.
        __init__.__pydantic_base_init__ = True

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Read this object from JSON data, as its schema has it.

        Raises:
            InvalidInput: the first field that breaks a rule, with the nearest valid form where one is known.
        """
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise _to_invalid_input(error, obj) from None

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Read this object from JSON text. Raises InvalidInput, as `model_validate` does."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            raise _to_invalid_input(error, _parsed(json_data)) from None

    def changed(self, **changes: object) -> Self:
        """Return a copy with other values in some fields, validated like a new object."""
        return type(self)(**{**dict(self), **changes})

    def to_wire(self) -> dict[str, Any]:
        """Return this object as JSON data, valid under its schema; absent fields are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_json(self) -> str:
        """Return `to_wire` as compact JSON text."""
        return self.model_dump_json(by_alias=True, exclude_none=True)


def _parsed(json_data: str | bytes | bytearray) -> object:
    try:
        return from_json(json_data)
    except ValueError:
        return None


def _to_invalid_input(error: ValidationError, data: object) -> InvalidInput:
    return with_nearest_form(invalid_input(error), data)
