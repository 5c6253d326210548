"""Who calls: name, tenant and scopes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from .errors import Forbidden

#: Words of letters, digits and a few signs, so that a name is one line in events and logs.
NAME_PATTERN = r"^[\w.@:|/+=-]+( [\w.@:|/+=-]+)*$"
MAX_NAME = 100
CallerName = Annotated[str, Field(max_length=MAX_NAME, pattern=NAME_PATTERN)]


class Scope(StrEnum):
    """What a caller may do."""

    SUBMIT = "submit"
    READ = "read"
    REPLY = "reply"
    CONTROL = "control"
    #: Implies all others.
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Caller:
    """A program or a person that calls over a network."""

    #: Recorded as the actor of events: "cancelled by ann".
    name: str
    #: The only tenant whose sessions it sees; None: all tenants.
    tenant: str | None
    scopes: frozenset[Scope]

    def may(self, scope: Scope) -> bool:
        """Return whether the caller has a scope."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def sees(self, tenant: str | None) -> bool:
        """Return whether the caller sees what belongs to a tenant; None: to none."""
        return self.tenant is None or self.tenant == tenant

    def require(self, scope: Scope) -> None:
        """Check that the caller has a scope.

        Raises:
            Forbidden: It has not.
        """
        if not self.may(scope):
            raise Forbidden(scope)


#: The caller of a server without authentication, which only this machine reaches.
LOCAL = Caller("local", None, frozenset({Scope.ADMIN}))
