"""The memory view of a turn: merged parameters, their confidence, and what to ask for.

Priority: the new message, then what is remembered, then the defaults, then what other rooms
know (where the user wants that). The merge comes before required parameters are checked.

Source: dialog state document, sections 2 (`Priority`), 4 (example 3) and 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from pydantic import Field, JsonValue

from ..protocol.base import JsonObject, ProtocolObject
from .forms import ServiceForm
from .parameters import is_stated
from .services import Service
from .state import MemoryState, RememberedValue, ServiceMemory, Source

#: Inferred parameters are less certain than stated ones.
INFERRED_CONFIDENCE = 0.7
#: Parameters of another room are less certain than those of this room.
OTHER_ROOM_FACTOR = 0.8


class ParameterOrigin(ProtocolObject):
    """Source and confidence of a merged parameter."""

    source: Source
    #: 0..1, now.
    confidence: float
    #: The session and turn that set it, where one did.
    session: str = ""
    turn: int = 0


class MemoryView(ProtocolObject):
    """The memory as a turn sees it."""

    #: The service in question; None: none has been named yet.
    service: str | None = None
    #: Everything known, merged by priority.
    parameters: JsonObject = Field(default_factory=dict)
    #: How each of `parameters` is known.
    known: dict[str, ParameterOrigin] = Field(default_factory=dict)
    #: Required parameters that are not known.
    missing: tuple[str, ...] = ()
    #: Parameters to ask the user for: missing, or too uncertain; `service` if several services are possible.
    ask: tuple[str, ...] = ()
    #: Services that the parameters may belong to, if there are several and none is known.
    unclear: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    #: Services that something is remembered for.
    services: tuple[str, ...] = ()
    #: The memory could not be reached, or not used: there may be more than is shown.
    degraded: bool = False
    #: Services of the session, with the parameters that an answer may state.
    forms: tuple[ServiceForm, ...] = Field(default=(), exclude_if=lambda value: not value)
    #: The day of the turn, in UTC.
    today: date | None = Field(default=None, exclude_if=lambda value: value is None)

    @property
    def private(self) -> frozenset[str]:
        """Return the names of parameters of the service that are shown masked."""
        form = next((form for form in self.forms if form.name == self.service), None)
        return frozenset() if form is None else form.private


@dataclass(frozen=True, slots=True)
class RecallContext:
    """The session that reads the memory, and the time."""

    #: Now, by the server's clock.
    now_ms: int
    #: Milliseconds after which what was carried over is half as sure.
    half_life_ms: int
    #: The session that asks; what others have set is carried over.
    session: str = ""
    ask_below: float = 0.5


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """The memory as read by one turn."""

    #: The part shown to the turn.
    view: MemoryView
    #: The timestamp of all statements of this turn.
    at_ms: int
    #: True if the session has a user to whom the memory belongs.
    has_owner: bool
    #: The service of the session's own message; None: unknown.
    service: str | None = None
    #: The session's own message, if a parser must read it first.
    sentence: str | None = None
    #: What was wrong with the session's own message, one line each.
    faults: tuple[str, ...] = ()


def recall(
    state: MemoryState,
    service: Service | None,
    asker: RecallContext,
    *,
    said: Mapping[str, JsonValue] | None = None,
    defaults: Mapping[str, JsonValue] | None = None,
    other_rooms: ServiceMemory | None = None,
    degraded: bool = False,
) -> MemoryView:
    """Return the view of a service's memory; `state` has the new message in it already.

    Without a service nothing can be merged, so `said` and the defaults are returned; `said` has priority.
    """
    if service is None:
        return view_without_service(
            said or {}, defaults, services=tuple(state.service_memories), degraded=degraded
        )
    service_memory = state.service_memory(service.name)
    values: dict[str, JsonValue] = {}
    origins: dict[str, ParameterOrigin] = {}
    for name, remembered in _from_other_rooms(state, service_memory, other_rooms).items():
        values[name], origins[name] = remembered.value, _known(remembered, asker, share=OTHER_ROOM_FACTOR)
    for name, value in (defaults or {}).items():
        if is_stated(value):
            values[name], origins[name] = value, ParameterOrigin(source=Source.DEFAULT, confidence=1.0)
    for name, remembered in service_memory.parameters.items():
        values[name], origins[name] = remembered.value, _known(remembered, asker)
    missing = tuple(name for name in service.required if name not in values)
    doubtful = tuple(name for name, origin in origins.items() if origin.confidence < asker.ask_below)
    return MemoryView(
        service=service.name,
        parameters=values,
        known=origins,
        missing=missing,
        ask=(*missing, *doubtful),
        services=tuple(state.service_memories),
        degraded=degraded,
    )


def view_without_service(
    said: Mapping[str, Any],
    defaults: Mapping[str, JsonValue] | None = None,
    *,
    services: tuple[str, ...] = (),
    degraded: bool = False,
) -> MemoryView:
    """Return the view where no service is known: nothing is remembered, so the values go through as they are.

    Raises:
        InvalidInput: A name or a value is not JSON.
    """
    layers = ((defaults or {}, Source.DEFAULT), (said, Source.SAID))
    stated = {
        name: (value, source) for layer, source in layers for name, value in layer.items() if is_stated(value)
    }
    return MemoryView(
        parameters={name: value for name, (value, _) in stated.items()},
        known={name: ParameterOrigin(source=source, confidence=1.0) for name, (_, source) in stated.items()},
        services=services,
        degraded=degraded,
    )


def day_of(now_ms: int) -> date:
    """Return the day of a time in milliseconds, in UTC."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).date()


def confidence_now(remembered: RememberedValue, asker: RecallContext) -> float:
    """Return the current confidence: unchanged within the session that set it, otherwise decaying."""
    if remembered.session and remembered.session == asker.session and remembered.source is not Source.CARRIED:
        return remembered.confidence
    age_ms = max(asker.now_ms - remembered.at_ms, 0)
    return float(remembered.confidence * 0.5 ** (age_ms / asker.half_life_ms))


def _known(
    remembered: RememberedValue, asker: RecallContext, *, share: float | None = None
) -> ParameterOrigin:
    is_carried = share is not None or remembered.session != asker.session or not remembered.session
    confidence = confidence_now(remembered, asker) * (1.0 if share is None else share)
    return ParameterOrigin(
        source=Source.CARRIED if is_carried else remembered.source,
        confidence=round(confidence, 3),
        session=remembered.session,
        turn=remembered.turn,
    )


def _from_other_rooms(
    state: MemoryState, here: ServiceMemory, other_rooms: ServiceMemory | None
) -> dict[str, RememberedValue]:
    """Return the parameters of other rooms that this room has not forgotten."""
    elsewhere = {} if other_rooms is None else other_rooms.parameters
    return {
        name: remembered
        for name, remembered in elsewhere.items()
        if remembered.at_ms > max(state.cutoff_ms, here.forgotten.get(name, 0))
    }
