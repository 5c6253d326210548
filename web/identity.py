"""Who calls: from the header `Authorization` of a request to a `Caller`."""

from __future__ import annotations

from typing import Protocol

from ..client.aio.client import AsyncClient
from ..config.settings import Settings
from ..models.errors import Unauthorized
from ..models.identity import LOCAL, Caller


class Identify(Protocol):
    """Finds the caller of a request."""

    async def __call__(self, authorization: str | None) -> Caller:
        """Return the caller.

        Args:
            authorization: Value of the header `Authorization`; None: there is none.

        Raises:
            Unauthorized: The credentials are missing or not valid.
        """
        ...


async def anybody(authorization: str | None) -> Caller:  # noqa: ARG001 - as `Identify`
    """Return the local caller, for a server that only this machine reaches."""
    return LOCAL


async def refuse(authorization: str | None) -> Caller:  # noqa: ARG001 - as `Identify`
    """Refuse each request."""
    raise Unauthorized


def build_identify(settings: Settings, client: AsyncClient, *, authenticate: bool) -> Identify:  # noqa: ARG001
    """Return what finds the callers of a server.

    Args:
        settings: Settings of the installation.
        client: Client of the installation.
        authenticate: Whether requests need credentials.
    """
    return refuse if authenticate else anybody
