"""The services whose parameters are remembered, with their schemas; programs can register more.

A parameter that the schema does not name is kept as any JSON: a service's results may leave
other data (such as `last_searches`). A parameter that the schema names has its type.

Source: dialog state document, sections 2 (`DIALOG_STATE_SERVICES`) and 3. It has no schema for
`scheduling` and `email`; theirs are made in its manner.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from ..errors import InvalidInput
from .parameters import Parameter, check_name, is_stated
from .parameters import ParameterKind as Kind

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")


@dataclass(frozen=True)
class Service:
    """A service and its typed parameters."""

    name: str
    parameters: tuple[Parameter, ...] = ()
    #: Whether a user may have its parameters carried into other rooms.
    shareable: bool = True
    by_name: Mapping[str, Parameter] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            rule = "must be at most 32 lower-case letters, digits, - and _, and start with a letter"
            raise InvalidInput("service", self.name, rule)
        by_name = {parameter.name: parameter for parameter in self.parameters}
        if len(by_name) < len(self.parameters):
            raise InvalidInput(f"{self.name}.parameters", len(self.parameters), "must have different names")
        object.__setattr__(self, "by_name", by_name)

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the parameters that are asked for while they are not known."""
        return tuple(parameter.name for parameter in self.parameters if parameter.required)

    @property
    def private(self) -> frozenset[str]:
        """Names of the parameters that are shown masked."""
        return frozenset(parameter.name for parameter in self.parameters if parameter.private)

    def read(self, name: object, value: object) -> JsonValue:
        """Return one parameter's value, by its type.

        Args:
            name: The parameter; the value of an unknown one is returned as any JSON.
            value: The value.

        Raises:
            InvalidInput: A bad name, or a value of the wrong type.
        """
        name = check_name(name)
        parameter = self.by_name.get(name) or Parameter(name, Kind.ANY)
        return parameter.read(value)

    def split_valid(
        self, parameters: Mapping[str, object]
    ) -> tuple[dict[str, JsonValue], tuple[InvalidInput, ...]]:
        """Return the valid parameters, and the errors of the others; "not said" values are left out.

        Args:
            parameters: Values by name.
        """
        good: dict[str, JsonValue] = {}
        bad: list[InvalidInput] = []
        for name, value in parameters.items():
            if is_stated(value):
                try:
                    good[name] = self.read(name, value)
                except InvalidInput as error:
                    bad.append(error.within(self.name))
        return good, tuple(bad)


_BUILT_IN = (
    Service(
        "travel",
        (
            Parameter("from", required=True, example="Nairobi"),
            Parameter("to", required=True, example="London"),
            Parameter("departure_date", Kind.DATE),
            Parameter("departure_time", Kind.TIME),
            Parameter("return_date", Kind.DATE),
            Parameter("passenger_count", Kind.INTEGER),
            Parameter("passenger_names", Kind.TEXTS, private=True),
            Parameter("cabin_class", Kind.CHOICE, choices=("economy", "business", "first")),
            Parameter("preferred_airline"),
            Parameter("max_price", Kind.INTEGER),
            Parameter("flexible_dates", Kind.BOOLEAN),
            Parameter("round_trip", Kind.BOOLEAN),
        ),
    ),
    Service(
        "payment",
        (
            Parameter("amount", Kind.INTEGER, required=True),
            Parameter("currency", example="KES"),
            Parameter("recipient", required=True, private=True, example="+15550100"),
            Parameter("description"),
            Parameter("reference"),
        ),
        shareable=False,
    ),
    Service(
        "search",
        (
            Parameter("query", required=True, example="quiet hotels in Rome"),
            Parameter("search_type", Kind.CHOICE, choices=("flights", "hotels", "events", "information")),
            Parameter("filters", Kind.OBJECT),
        ),
    ),
    Service(
        "scheduling",
        (
            Parameter("title", required=True),
            Parameter("date", Kind.DATE, required=True),
            Parameter("start_time", Kind.TIME),
            Parameter("end_time", Kind.TIME),
            Parameter("duration_minutes", Kind.INTEGER),
            Parameter("timezone", example="Africa/Nairobi"),
            Parameter("location"),
            Parameter("attendees", Kind.TEXTS, private=True),
            Parameter("recurrence", Kind.CHOICE, choices=("none", "daily", "weekly", "monthly", "yearly")),
        ),
    ),
    Service(
        "email",
        (
            Parameter("to", Kind.TEXTS, required=True, private=True),
            Parameter("cc", Kind.TEXTS, private=True),
            Parameter("bcc", Kind.TEXTS, private=True),
            Parameter("subject", required=True),
            Parameter("body"),
            Parameter("reply_to", private=True),
            Parameter("importance", Kind.CHOICE, choices=("low", "normal", "high")),
        ),
    ),
)

_SERVICES = {service.name: service for service in _BUILT_IN}


def register_service(service: Service) -> Service:
    """Make a service known to this process.

    Call it where sessions are submitted and where workers run.

    Args:
        service: The service.

    Returns:
        The same service.

    Raises:
        InvalidInput: There is another service of this name.
    """
    registered = _SERVICES.setdefault(service.name, service)
    if registered != service:
        raise InvalidInput("service", service.name, "must be unique: a different service has this name")
    return service


def registered_services() -> tuple[Service, ...]:
    """Return the services this process knows."""
    return tuple(_SERVICES.values())


def private_names(name: str | None) -> frozenset[str]:
    """Return names of a service's parameters that are shown masked; none for a service that is not known here."""
    service = _SERVICES.get(name or "")
    return frozenset() if service is None else service.private


def find_service(name: object) -> Service:
    """Return the service of this name.

    Raises:
        InvalidInput: The service is unknown; the error lists the known ones.
    """
    service = _SERVICES.get(name) if isinstance(name, str) else None
    if service is None:
        raise InvalidInput("service", name, f"must be one of {', '.join(_SERVICES)}")
    return service
