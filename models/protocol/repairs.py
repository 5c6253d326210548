"""Repairs of known deviations of other writers.

| deviation | repair |
|---|---|
| `$comment` | left out |
| an optional field that is null | left out |
| `meta.protocolVersion` and the like | snake_case |
| `meta.source` | left out |
| no `meta.schema_version` | `1.0.0` |
| `collab-`, `ctx-`, `dialog-`, `thread-` before a UUID | the UUID |
| the same prefixes before another name | a UUID that is always the same for that name |
| an upper-case UUID | lower-case |
| a timestamp without a zone | UTC |

Free-form objects (`data`, `payload`, `attributes`) are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..errors import InvalidInput
from ..text.ids import derived_id, is_timestamp, is_uuid, is_uuid4

ID_PREFIXES = ("collab-", "ctx-", "dialog-", "thread-")

_IDS = frozenset(
    {"collab_id", "context_id", "dialog_id", "thread_id", "session_id"}
    | {"event_id", "trace_id", "span_id", "parent_span_id", "id"}
)
_TIMESTAMPS = frozenset({"created_at", "updated_at", "started_at", "ended_at", "timestamp"})
_FREE_FORM = frozenset({"data", "payload", "attributes"})
#: Fields of `Meta` in camel case, and their names.
CAMEL_META = {
    "createdAt": "created_at",
    "createdBy": "created_by",
    "crossCutting": "cross_cutting",
    "protocolVersion": "protocol_version",
    "schemaVersion": "schema_version",
    "updatedAt": "updated_at",
    "updatedBy": "updated_by",
}


@dataclass(frozen=True, slots=True)
class Repair:
    """One repair: path, old value, new value (None: left out), and reason."""

    field: str
    before: Any
    after: Any
    rule: str


def repair(document: dict[str, Any]) -> Iterator[Repair]:
    """Repair `document` in place, and yield each repair.

    Raises:
        InvalidInput: Two spellings of the same field contradict each other.
    """
    meta = document.get("meta")
    if isinstance(meta, dict):
        yield from _repair_meta(meta)
    yield from _repair_object(document, "")


def with_nearest_form(error: InvalidInput, data: object) -> InvalidInput:
    """Add the nearest valid form to an error about `data`, if one of the repairs above applies."""
    plain = _plain(data)
    if not isinstance(plain, dict):
        return error
    with suppress(InvalidInput):  # two fields contradict each other
        for made in repair(plain):
            if made.field == error.field:
                rule = error.rule.partition(", did you mean ")[0]  # the form below is the better hint
                error.rule = f"{rule}; {_nearest_form(made)}"
                break
    return error


def _nearest_form(made: Repair) -> str:
    if made.after is None:
        return "omit it"
    if isinstance(made.before, str) and made.field.endswith(f".{made.before}"):
        return f"write {made.after!r}"
    return f"the nearest valid form is {str(made.after)!r}"


def _plain(value: object) -> object:
    """Return a copy of tables and lists; their other values are not copied."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _repair_meta(meta: dict[str, Any]) -> Iterator[Repair]:
    if "source" in meta:
        yield Repair("meta.source", meta.pop("source"), None, "is not a field of the schema")
    for camel, name in CAMEL_META.items():
        if camel not in meta:
            continue
        value = meta.pop(camel)
        if meta.setdefault(name, value) != value:
            raise InvalidInput(f"meta.{camel}", value, f"must not contradict meta.{name}")
        yield Repair(f"meta.{camel}", camel, name, "must be in snake_case")
    if "protocol_version" in meta and "schema_version" not in meta:
        meta["schema_version"] = "1.0.0"
        yield Repair("meta.schema_version", None, "1.0.0", "is required; the schemas have one version")


def _repair_object(node: dict[str, Any], path: str) -> Iterator[Repair]:
    for key, value in list(node.items()):
        field = f"{path}{key}"
        if key == "$comment":
            yield Repair(field, node.pop(key), None, "is not a field of the schema")
        elif key in _FREE_FORM:
            continue
        elif value is None:
            del node[key]
            yield Repair(field, None, None, "must be omitted if null")
        elif isinstance(value, dict):
            yield from _repair_object(value, f"{field}.")
        elif isinstance(value, list):
            yield from _repair_list(value, field)
        else:
            for made in _repair_scalar(key, value, field):
                node[key] = made.after
                yield made


def _repair_list(items: list[Any], path: str) -> Iterator[Repair]:
    for index, item in enumerate(items):
        if isinstance(item, dict):
            yield from _repair_object(item, f"{path}[{index}].")


def _repair_scalar(key: str, value: object, field: str) -> Iterator[Repair]:
    if key in _IDS and isinstance(value, str):
        yield from _repair_id(value, field)
    elif key in _TIMESTAMPS and isinstance(value, str):
        if not is_timestamp(value) and is_timestamp(f"{value}Z"):
            yield Repair(field, value, f"{value}Z", "must have a time zone; UTC is assumed")
    elif key in _TIMESTAMPS and isinstance(value, datetime) and value.tzinfo is None:
        yield Repair(field, value, value.replace(tzinfo=UTC), "must have a time zone; UTC is assumed")


def _repair_id(text: str, field: str) -> Iterator[Repair]:
    prefix = next((prefix for prefix in ID_PREFIXES if text.startswith(prefix)), "")
    name = text.removeprefix(prefix)
    if prefix and name:
        if not is_uuid4(name.lower()):
            yield Repair(field, text, derived_id(text), "must be a UUID v4; derived from the name")
            return
        yield Repair(field, text, name, f"must be a UUID v4 without the prefix {prefix!r}")
    if name != name.lower() and is_uuid(name.lower()):
        yield Repair(field, name, name.lower(), "must be in lower case")
