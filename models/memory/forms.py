"""Forms of services: the parameters that an answer may state, as data for prompts and for agents in other processes."""

from __future__ import annotations

from collections.abc import Iterable

from ..protocol.base import ProtocolObject
from .parameters import Parameter, ParameterKind
from .services import Service


class ParameterForm(ProtocolObject):
    """One parameter of a service."""

    name: str
    kind: ParameterKind = ParameterKind.TEXT
    required: bool = False
    choices: tuple[str, ...] = ()
    private: bool = False
    #: A value as a user states it; empty: none is given.
    example: str = ""

    @classmethod
    def of(cls, parameter: Parameter) -> ParameterForm:
        """Return the form of a parameter."""
        return cls(
            name=parameter.name,
            kind=parameter.kind,
            required=parameter.required,
            choices=parameter.choices,
            private=parameter.private,
            example=parameter.example,
        )


class ServiceForm(ProtocolObject):
    """A service with its parameters."""

    name: str
    parameters: tuple[ParameterForm, ...] = ()

    @classmethod
    def of(cls, service: Service) -> ServiceForm:
        """Return the form of a service."""
        return cls(name=service.name, parameters=tuple(map(ParameterForm.of, service.parameters)))

    @property
    def private(self) -> frozenset[str]:
        """Return the names of the parameters that are shown masked."""
        return frozenset(parameter.name for parameter in self.parameters if parameter.private)


def service_forms(services: Iterable[Service]) -> tuple[ServiceForm, ...]:
    """Return the forms of services, in their order."""
    return tuple(map(ServiceForm.of, services))
