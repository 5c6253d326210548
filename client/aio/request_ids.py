"""Ids of the sessions that requests of clients have begun. Only for servers."""

from __future__ import annotations

from ...state.request_ids import RequestIdStore
from ..client import installation_of
from .client import AsyncClient, call_with_client


async def reserve_session_id(client: AsyncClient, *request: str) -> str:
    """Return the id of the session of a request: a new one, or that of the same request before.

    Args:
        client: Client of the installation.
        request: What makes it the same request: the protocol, the tenant, the caller, and the key of the client.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    return await call_with_client(
        client, lambda blocking: RequestIdStore(installation_of(blocking).redis).reserve(*request)
    )
