"""Ids of the sessions that requests of clients have begun. Only for servers."""

from __future__ import annotations

from ...state.request_ids import RequestIdStore
from ..client import installation_of
from .client import AsyncClient


async def reserve_session_id(client: AsyncClient, *request: str) -> str:
    """Return the id of the session of a request: a new one, or that of the same request before.

    Args:
        client: Client of the installation.
        request: What makes it the same request: the protocol, the tenant, the caller, and the key of the client.

    Raises:
        RedisUnavailable: Redis does not answer.
    """

    def reserve() -> str:
        return RequestIdStore(installation_of(client._blocking()).redis).reserve(*request)  # noqa: SLF001 - the only access

    return await client.run(reserve)
