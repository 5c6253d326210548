"""Readers of protocol documents of other writers, with repair of known deviations.

The examples of the two module documents are not valid under their own schemas. Known deviations are
repaired, and every repair is reported; the result is valid when it is written again. Values that a repair
would have to guess are refused: unknown enum values, an empty list of participants, a missing id.

Source: Dialog module, section 8, and Collab module, section 8 (the examples); their schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic_core import from_json

from ..errors import InvalidInput
from ..text.redact import ABSENT
from .base import ProtocolObject
from .collab import Collab
from .dialog import Dialog, Message
from .events import MapEvent
from .repairs import Repair, repair

T = TypeVar("T")
W = TypeVar("W", bound=ProtocolObject)

#: A document: JSON text or data.
Document = str | bytes | Mapping[str, Any]


#: Classes of documents by a field that only documents of this class have, in the order in which they are tried.
_BY_FIELD: dict[str, type[ProtocolObject]] = {
    "collab_id": Collab,
    "dialog_id": Dialog,
    "session_id": MapEvent,
    "content": Message,
}


@dataclass(frozen=True, slots=True)
class RepairedDocument(Generic[T]):
    """An object that was read, with its repairs."""

    value: T
    repairs: tuple[Repair, ...] = ()


def read_document(data: Document) -> RepairedDocument[ProtocolObject]:
    """Return a protocol document from JSON text or data: a collab, a dialog, a message or a MAP event, by its fields.

    The repaired form is `value.to_wire()`, which is valid under the schema; `repairs` says what was changed.

    Raises:
        InvalidInput: It is none of these, or the first field that breaks a rule no repair is known for.
    """
    document = _parsed(data, "document")
    model = next((model for field, model in _BY_FIELD.items() if field in document), None)
    if model is None:
        rule = f"must have one of the fields {', '.join(_BY_FIELD)}"
        raise InvalidInput("document", ", ".join(map(str, document)), rule)
    return _read(model, document)


def _parsed(data: object, kind: str) -> dict[str, Any]:
    document = deepcopy(data)
    if isinstance(data, str | bytes):
        try:
            document = from_json(data, allow_inf_nan=False)
        except (ValueError, TypeError) as error:  # TypeError: a lone surrogate
            raise InvalidInput(kind, data, f"must be JSON: {error}") from None
    if not isinstance(document, Mapping):
        raise InvalidInput(kind, document, "must be a JSON object")
    return dict(document)


def _read(model: type[W], document: dict[str, Any]) -> RepairedDocument[W]:
    repairs = tuple(repair(document))
    value = model.model_validate(document, by_alias=True, by_name=False)
    for field in _missing(value):
        raise InvalidInput(field, ABSENT, "is required")
    return RepairedDocument(value, repairs)


def _missing(model: ProtocolObject, path: str = "") -> Iterator[str]:
    """Yield required fields of the schema that were filled with a default, depth first."""
    for name in sorted(model.REQUIRED - model.model_fields_set):
        yield f"{path}{name}"
    for name, value in model:
        if isinstance(value, ProtocolObject):
            yield from _missing(value, f"{path}{name}.")
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if isinstance(item, ProtocolObject):
                    yield from _missing(item, f"{path}{name}[{index}].")
