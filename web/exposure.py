"""The rule that a server which other machines reach answers known callers only."""

from __future__ import annotations

from ..client.client import Client
from ..config.settings import Settings
from ..models.errors import InvalidInput
from .hosts import is_loopback


def check_exposure(settings: Settings, host: str, *, authenticate: bool) -> None:
    """Check that a server may listen on an address.

    Args:
        settings: Settings of the installation.
        host: The address.
        authenticate: Whether requests need credentials.

    Raises:
        InvalidInput: It must listen on this machine only.
        RedisUnavailable: Redis does not answer.
    """
    if is_loopback(host):
        return
    if not authenticate:
        raise InvalidInput("--host", host, "must be a loopback address together with --no-auth")
    if settings.http_jwt_keys is None and not _has_tokens(settings):
        rule = "must be a loopback address until a token exists: create one with `symposia token create`"
        raise InvalidInput("--host", host, rule)


def _has_tokens(settings: Settings) -> bool:
    with Client(settings) as client:
        return client.tokens.any_valid()
