"""Callers with JSON Web Tokens of an identity provider."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import jwt
from jwt.exceptions import PyJWTError

from ..config.settings import Settings
from ..models.errors import InvalidInput, Unauthorized
from ..models.identity import MAX_NAME, NAME_PATTERN, Caller, Scope
from ..models.sessions.limits import TENANT_PATTERN
from .jwt_keys import KeySet

#: Maximum characters of a token.
MAX_TOKEN = 8_192
#: Seconds by which the clocks of the provider and of this machine may differ.
_LEEWAY_S = 30
#: Prefix that providers may require of scopes.
_PREFIX = "symposia:"
_REQUIRED = ("http_jwt_issuer", "http_jwt_audience")
_MAX_TENANT = 100


class JwtVerifier:
    """Verifies tokens: signature with the algorithm of the key, issuer, audience and expiry.

    Args:
        settings: Settings of the installation, with `http_jwt_keys`.

    Raises:
        InvalidInput: A setting is missing.
    """

    def __init__(self, settings: Settings) -> None:
        for name in _REQUIRED:
            if getattr(settings, name) is None:
                raise InvalidInput(name, None, "must be set together with http_jwt_keys")
        self._settings = settings
        self._keys = KeySet(str(settings.http_jwt_keys))

    async def find_caller(self, token: str) -> Caller:
        """Return the caller of a token.

        Args:
            token: The token as it was sent.

        Raises:
            Unauthorized: The token is not valid, or has no name, tenant or scope.
        """
        if len(token) > MAX_TOKEN:
            raise Unauthorized
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            key = await self._keys.find(key_id)
            if key is None:
                raise Unauthorized
            claims = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                issuer=self._settings.http_jwt_issuer,
                audience=self._settings.http_jwt_audience,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (PyJWTError, ValueError, TypeError, RecursionError):
            raise Unauthorized from None
        return self._caller(claims)

    def _caller(self, claims: Mapping[str, Any]) -> Caller:
        name = _text(claims.get(self._settings.http_jwt_name_claim), NAME_PATTERN, MAX_NAME)
        tenant = _text(claims.get(self._settings.http_jwt_tenant_claim), TENANT_PATTERN, _MAX_TENANT)
        return Caller(name, tenant, _scopes(claims.get(self._settings.http_jwt_scope_claim)))


def _text(value: object, pattern: str, max_length: int) -> str:
    if not isinstance(value, str) or len(value) > max_length or not re.fullmatch(pattern, value):
        raise Unauthorized
    return value


def _scopes(value: object) -> frozenset[Scope]:
    """Return the scopes of a claim, with or without the prefix. Names of other services are ignored."""
    names = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    known = {scope.value: scope for scope in Scope}
    found = (known.get(name.removeprefix(_PREFIX)) for name in names if isinstance(name, str))
    scopes = frozenset(scope for scope in found if scope is not None)
    if not scopes:
        raise Unauthorized
    return scopes
