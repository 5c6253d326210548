"""Bootsteps of the heartbeat of this worker, and of the takeover of turns of lost workers.

The heartbeat process has no Redis client, so it gets a description of the server of the sessions.
"""

from __future__ import annotations

import logging
import os
from functools import partial
from typing import Any, cast

from celery import Celery, bootsteps
from celery.signals import worker_process_shutdown, worker_shutdown
from pydantic import JsonValue
from redis import Redis
from redis.connection import SSLConnection, parse_url

from ...client.building.runtime import per_process
from ...models.text.redis_address import RedisAddress, RedisKind, split_key_prefix
from ...state.redis.connection_errors import LOST_CLUSTER_ERRORS, convert_error
from ...state.worker_leases import LEASE_MS, lease_keys, report_script
from ...tasks.runtime.runtime import install_held_sessions, runtime_of
from ...tasks.sessions.sweep import take_over_lost_workers
from ..steps.background_loops import BackgroundLoop, LoopStep
from .connection import HeartbeatConnection, HeartbeatProcess, new_process_id

log = logging.getLogger(__name__)

#: Seconds between two checks for lost workers.
_CHECK_EVERY_S = 1.0


class HeartbeatStep(bootsteps.Step):
    """Bootstep that connects the processes of this worker to its heartbeat process, which the main process starts.

    The socket exists before the pool forks its children.
    """

    def __init__(self, worker: Any, **_options: Any) -> None:
        try:
            heartbeat = HeartbeatProcess()
        except OSError as error:
            log.warning(
                "no heartbeat process, so turns of this worker are taken over late if it is killed: %s", error
            )
            return
        install_held_sessions(
            worker.app, per_process(partial(_connect, worker.app, worker.hostname, heartbeat, os.getpid()))
        )


def _connect(app: Celery, worker: str, heartbeat: HeartbeatProcess, main_process: int) -> HeartbeatConnection:
    if os.getpid() != main_process:
        connection = HeartbeatConnection(heartbeat.address, new_process_id(worker))
    else:
        connection = HeartbeatConnection(
            heartbeat.address,
            new_process_id(worker),
            ensure_running=heartbeat.ensure_running,
            describe_server=lambda: describe_server(runtime_of(app).store.client),
        )
    worker_shutdown.connect(connection.report_all_ended, weak=False)
    worker_process_shutdown.connect(connection.report_all_ended, weak=False)
    return connection


class LostWorkersStep(LoopStep):
    """Bootstep that takes over the turns of lost workers."""

    what = "lost-workers"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Return the loop."""
        return BackgroundLoop(
            self.what, lambda: take_over_lost_workers(runtime_of(worker.app)), interval_s=_CHECK_EVERY_S
        )


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
        "key_prefix": split_key_prefix(url)[1],
        "script": report_script(),
        "lease_ms": LEASE_MS,
    }


def _master(client: Any, address: RedisAddress) -> tuple[str, int]:
    if address.kind is RedisKind.SINGLE:
        return address.nodes[0]
    if address.kind is RedisKind.SENTINEL:
        master: tuple[str, int] = client.connection_pool.sentinel_manager.discover_master(address.master)
        return master
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
