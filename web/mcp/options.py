"""Options of the server: how calls wait, and what errors say."""

from __future__ import annotations

from dataclasses import dataclass

from ...models.errors import InvalidInput, SymposiaError
from ..problems import detail_of


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of a server."""

    #: Maximum seconds of one call.
    timeout_s: float
    #: Whether a cancelled call cancels the session that it has submitted.
    cancels: bool = False
    #: Whether the client runs on this machine, for its user: errors name hosts and paths.
    is_local: bool = False

    def describe(self, error: SymposiaError) -> str:
        """Return the text of an error."""
        # An error about an input is the same for each file; its cause has no path.
        if self.is_local and not isinstance(error.__cause__, InvalidInput):
            return str(error)
        return detail_of(error)
