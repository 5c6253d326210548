"""Claims that requests of clients take, such as the newest session of a thread. Only for servers."""

from __future__ import annotations

from ...state.claims import ClaimStore
from ..client import Client, installation_of
from .client import AsyncClient, call_with_client


async def read_claim(client: AsyncClient, name: str) -> str:
    """Return the value of a claim; empty: it is free. Raises RedisUnavailable."""
    return await call_with_client(client, lambda blocking: _claims(blocking).read(name))


async def take_claim(client: AsyncClient, name: str, value: str, *, expected: str = "") -> str:
    """Set the value of a claim, for as long as sessions are kept, if it has the expected one.

    Args:
        client: Client of the installation.
        name: Name of the claim.
        value: The new value.
        expected: The value that it must have; empty: it must be free.

    Returns:
        The value that the claim has now: another caller may have been first.

    Raises:
        RedisUnavailable: Redis does not answer.
    """

    def take(blocking: Client) -> str:
        ttl_ms = installation_of(blocking).settings.retention_s * 1_000
        return _claims(blocking).take(name, value, expected=expected, ttl_ms=ttl_ms)

    return await call_with_client(client, take)


def _claims(client: Client) -> ClaimStore:
    return ClaimStore(installation_of(client).redis)
