"""Base of the protocol objects and their common parts: meta, governance, trace, references, events.

Objects are immutable, refuse unknown fields, and are written in the form of their schema. The types refuse
values that cannot be written: text that UTF-8 cannot encode, numbers that JSON does not have.

Source: metadata, common-types, trace-base and events schemas (`common/*.schema.json`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StringConstraints,
    ValidationError,
)
from pydantic.alias_generators import to_camel
from pydantic_core import from_json, to_json

from ..errors import InvalidInput, invalid_input
from ..text.ids import Id, Timestamp, new_id, utcnow
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


#: Text. With the constraint pydantic refuses lone surrogates, which a bare `str` accepts.
Text = Annotated[str, StringConstraints(min_length=0)]

#: Text that is not blank.
NonBlank = Annotated[Text, AfterValidator(_not_blank)]

#: JSON object with any content.
JsonObject = Annotated[dict[str, JsonValue], AfterValidator(_encodable)]

if TYPE_CHECKING:
    #: Field that accepts a list or a tuple and stores a tuple.
    Many: TypeAlias = Sequence[Element]
else:
    Many = tuple[Element, ...]


class ProtocolObject(BaseModel):
    """Base of the protocol objects.

    Raises:
        InvalidInput: On construction, for the first field that breaks a rule.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    #: Fields that the schema requires although the constructor has a default for them.
    REQUIRED: ClassVar[frozenset[str]] = frozenset()

    if not TYPE_CHECKING:  # type checkers see the fields instead

        def __init__(self, /, **data: Any) -> None:
            try:
                super().__init__(**data)
            except ValidationError as error:
                raise _to_invalid_input(error, data) from None

        # Pydantic itself validates the objects inside this one, so that the path of an error is complete.
        __init__.__pydantic_base_init__ = True

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Read this object from JSON data in the form of its schema.

        Raises:
            InvalidInput: The first field that breaks a rule, with the nearest valid form if one is known.
        """
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise _to_invalid_input(error, obj) from None

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Read this object from JSON text. Raises InvalidInput as `model_validate` does."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            raise _to_invalid_input(error, _parsed(json_data)) from None

    def changed(self, **changes: object) -> Self:
        """Return a copy with other values in some fields, validated like a new object.

        Args:
            changes: New values by field.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        cls = type(self)
        own = {name: value for name, value in self if name in cls.model_fields}
        return cls(**{**own, **changes})

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


T = TypeVar("T")


def _unique(values: Many[T]) -> Many[T]:
    if len(set(values)) < len(values):
        raise ValueError("must not contain an entry twice")
    return values


_Version = Annotated[str, StringConstraints(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")]
_EventType = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(?:\.[a-z][a-z0-9]*)*$")]


class CrossCutting(StrEnum):
    """Concerns of the governance plane that an object may declare."""

    COORDINATION = "coordination"
    ERROR_HANDLING = "error-handling"
    EVENT_BUS = "event-bus"
    LEARNING_FEEDBACK = "learning-feedback"
    OBSERVABILITY = "observability"
    ORCHESTRATION = "orchestration"
    PERFORMANCE = "performance"
    PROTOCOL_VERSIONING = "protocol-versioning"
    SECURITY = "security"
    STATE_SYNC = "state-sync"
    TRANSACTION = "transaction"


class Meta(ProtocolObject):
    """Versions, authorship and tags of an object (metadata.schema.json)."""

    REQUIRED: ClassVar[frozenset[str]] = frozenset({"protocol_version", "schema_version"})

    protocol_version: _Version = "1.0.0"
    schema_version: _Version = "1.0.0"
    created_at: Timestamp | None = None
    created_by: Text | None = None
    updated_at: Timestamp | None = None
    updated_by: Text | None = None
    tags: Annotated[Many[Text], AfterValidator(_unique)] | None = None
    cross_cutting: Annotated[Many[CrossCutting], AfterValidator(_unique)] | None = None


class Module(StrEnum):
    """Modules that a reference may point to."""

    CONTEXT = "context"
    PLAN = "plan"
    CONFIRM = "confirm"
    TRACE = "trace"
    ROLE = "role"
    EXTENSION = "extension"
    DIALOG = "dialog"
    COLLAB = "collab"
    CORE = "core"
    NETWORK = "network"


class Ref(ProtocolObject):
    """A reference to another protocol object (common-types.schema.json)."""

    id: Id
    module: Module
    description: Text | None = None


class Governance(ProtocolObject):
    """Lifecycle phase, truth domain and lock of an object; camelCase on the wire."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    lifecycle_phase: Text | None = None
    truth_domain: Text | None = None
    #: True: every change is refused.
    locked: StrictBool | None = None
    last_confirm_ref: Ref | None = None


class Trace(ProtocolObject):
    """Execution chain and step of an object (trace-base.schema.json)."""

    trace_id: Id
    span_id: Id
    parent_span_id: Id | None = None
    context_id: Id | None = None
    attributes: JsonObject | None = None


class Event(ProtocolObject):
    """An event embedded in a collab, a dialog or a message (events.schema.json)."""

    REQUIRED: ClassVar[frozenset[str]] = frozenset({"event_id", "timestamp"})

    event_id: Id = Field(default_factory=new_id)
    #: Lower-case words joined by dots, e.g. `dialog.message`.
    event_type: _EventType
    source: Text
    timestamp: Timestamp = Field(default_factory=utcnow)
    trace_id: Id | None = None
    data: JsonObject | None = None
