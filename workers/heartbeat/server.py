"""Description of the server of the sessions for the heartbeat process, which has no Redis client."""

from __future__ import annotations

from typing import Any, cast

from pydantic import JsonValue
from redis import Redis
from redis.connection import SSLConnection, parse_url

from ...models.text.redis_address import RedisAddress, RedisKind
from ...state.redis.connection_errors import LOST_CLUSTER_ERRORS, convert_error
from ...state.worker_leases import LEASE_MS, lease_keys, report_script


def describe_server(client: Redis) -> JsonValue:
    """Return the address of the server that holds the leases now, the greeting with its credentials, and the script.

    Raises:
        RedisUnavailable: No Sentinel, or no node of the cluster, answers.
    """
    url: str = cast("Any", client).url  # of `connect`
    address = RedisAddress.parse(url)
    options: dict[str, Any] = parse_url(address.plain)  # type: ignore[no-untyped-call]
    try:
        host, port = _master(client, address)
    except LOST_CLUSTER_ERRORS as error:
        raise convert_error(error, url) from error
    return {
        "address": [host, port],
        "tls": _tls_options(options) if address.is_tls else None,
        "greeting": _greeting(options),
        "script": report_script(),
        "lease_ms": LEASE_MS,
    }


def _master(client: Any, address: RedisAddress) -> tuple[str, int]:
    if address.kind is RedisKind.SINGLE:
        return address.nodes[0]
    if address.kind is RedisKind.SENTINEL:
        found: tuple[str, int] = client.connection_pool.sentinel_manager.discover_master(address.master)
        return found
    node = client.get_node_from_key(lease_keys("")[0])
    return node.host, node.port


def _greeting(options: dict[str, Any]) -> list[JsonValue]:
    """Return the first commands of a connection: credentials, and the database."""
    user, password, database = (options.get(name) for name in ("username", "password", "db"))
    commands: list[JsonValue] = []
    if password:
        commands.append(["AUTH", *([user] if user else []), password])
    if database:
        commands.append(["SELECT", str(database)])
    return commands


def _tls_options(options: dict[str, Any]) -> JsonValue:
    """Return the options of TLS as redis-py understands them."""
    given = {name: value for name, value in options.items() if name.startswith("ssl_")}
    tls = SSLConnection(**given)
    return {
        "check_hostname": tls.check_hostname,
        "cert_reqs": tls.cert_reqs.name.removeprefix("CERT_"),
        "certfile": tls.certfile,
        "keyfile": tls.keyfile,
        "password": tls.certificate_password,
        "ca_certs": tls.ca_certs,
        "ca_path": tls.ca_path,
        "ca_data": tls.ca_data,
    }
