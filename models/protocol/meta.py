"""Common parts of collabs and dialogs: meta, governance, trace, references, embedded events.

Source: metadata, common-types, trace-base and events schemas (`common/*.schema.json`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StringConstraints
from pydantic.alias_generators import to_camel

from ..text.ids import Id, Timestamp, new_id, utcnow
from .base import JsonObject, Many, ProtocolObject, Text

T = TypeVar("T")


def _unique(values: Many[T]) -> Many[T]:
    if len(set(values)) < len(values):
        raise ValueError("must not contain an entry twice")
    return values


_Version = Annotated[str, StringConstraints(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")]
_EventType = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(?:\.[a-z][a-z0-9]*)*$")]


class CrossCutting(StrEnum):
    """Concerns of the governance plane an object may declare."""

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
    """Modules a reference may point into."""

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
    """The execution chain and step an object belongs to (trace-base.schema.json)."""

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
