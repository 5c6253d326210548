"""Who calls: from the header `Authorization` of a request to a `Caller`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from ..client.aio.client import AsyncClient
from ..config.settings import Settings
from ..models.errors import Unauthorized
from ..models.identity import LOCAL, Caller
from ..state.tokens import is_token

if TYPE_CHECKING:
    from .jwt_tokens import JwtVerifier

#: A bearer token in the header; its characters are those of RFC 6750.
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)


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


async def local_caller(authorization: str | None) -> Caller:  # noqa: ARG001 - as `Identify`
    """Return the local caller, for a server that only this machine reaches."""
    return LOCAL


class BearerTokens:
    """Finds callers by tokens of the installation, or by JSON Web Tokens if the settings name their keys.

    Args:
        settings: Settings of the installation.
        client: Client of the installation.

    Raises:
        InvalidInput: A setting is missing.
    """

    def __init__(self, settings: Settings, client: AsyncClient) -> None:
        self._tokens = client.tokens
        self._jwt: JwtVerifier | None = None
        if settings.http_jwt_keys is not None:
            from .jwt_tokens import JwtVerifier  # the library of signatures takes 8 MB

            self._jwt = JwtVerifier(settings)

    async def __call__(self, authorization: str | None) -> Caller:
        """Return the caller of a header.

        Raises:
            Unauthorized: The token is missing or not valid.
        """
        match = _BEARER.fullmatch(authorization or "")
        if match is None:
            raise Unauthorized
        if is_token(match[1]):
            return await self._tokens.find_caller(match[1])
        if self._jwt is None:
            raise Unauthorized
        return await self._jwt.find_caller(match[1])


def build_identify(settings: Settings, client: AsyncClient, *, authenticate: bool) -> Identify:
    """Return what finds the callers of a server.

    Args:
        settings: Settings of the installation.
        client: Client of the installation.
        authenticate: Whether requests need credentials.

    Raises:
        InvalidInput: A setting is missing.
    """
    return BearerTokens(settings, client) if authenticate else local_caller
