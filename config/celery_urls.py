"""Redis URLs as Celery's transports need them: the URL, and what they take beside it."""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from redis.credentials import UsernamePasswordCredentialProvider

from ..models.text.redact import HIDDEN
from ..models.text.redis_address import RedisAddress, RedisKind
from .urls import is_redis

#: Seconds in which a Sentinel has to answer before the next one is asked.
_SENTINEL_TIMEOUT_S = 2


class _Credentials(UsernamePasswordCredentialProvider):
    """Credentials that are not shown where Flower and `celery inspect conf` show the options of the transport."""

    def __json__(self) -> str:
        return HIDDEN

    def __repr__(self) -> str:
        return HIDDEN


def to_celery_url(url: str) -> str:
    """Return a Redis URL as Celery's transport needs it; any other as it is.

    Of the options the transport takes those of TLS and fails at others. Without any it trusts every certificate, so
    it is configured not to, unless the URL itself does. Each Sentinel is a URL, with the credentials of the master.
    """
    if not is_redis(url):
        return url
    address = RedisAddress.parse(url)
    parts = urlsplit(address.plain)
    path = _path(parts)
    if address.kind is RedisKind.SENTINEL:
        credentials = parts.netloc[: parts.netloc.rfind("@") + 1]
        nodes = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in address.nodes)
        return ";".join(f"sentinel://{credentials}{node}{path}" for node in nodes)
    return parts._replace(path=path, query=urlencode(_tls(address))).geturl()


def sentinel_options(url: str) -> dict[str, Any]:
    """Return the transport options for the master of Sentinels; nothing for another URL."""
    if not is_redis(url) or (address := RedisAddress.parse(url)).kind is not RedisKind.SENTINEL:
        return {}
    asked: dict[str, Any] = {
        "socket_timeout": _SENTINEL_TIMEOUT_S,
        "socket_connect_timeout": _SENTINEL_TIMEOUT_S,
        # None: one that does not answer is not tried again, but the next one asked.
        "retry": None,
    }
    if address.sentinel:
        asked["credential_provider"] = _Credentials(**address.sentinel)
    if address.is_tls:
        asked |= {"ssl": True, **_tls(address)}
    return {"master_name": address.master, "sentinel_kwargs": asked}


def broker_tls(url: str) -> dict[str, str] | None:
    """Return Celery's `broker_use_ssl` for the master of Sentinels: other transports read it from the URL."""
    if not sentinel_options(url):
        return None
    address = RedisAddress.parse(url)
    return _tls(address) if address.is_tls else None


def _tls(address: RedisAddress) -> dict[str, str]:
    options = dict(parse_qsl(urlsplit(address.plain).query, keep_blank_values=True))
    kept = {name: value for name, value in options.items() if name.startswith("ssl_")}
    if address.is_tls:
        kept.setdefault("ssl_cert_reqs", "required")
    return kept


def _path(parts: SplitResult) -> str:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    return f"/{options['db']}" if "db" in options else parts.path
