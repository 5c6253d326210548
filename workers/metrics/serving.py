"""Metrics of a process: in the registry of Prometheus' client library, and over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from prometheus_client import REGISTRY, CollectorRegistry, start_http_server
from redis import Redis

from ...config.settings import load_settings
from ...factories.connection import redis_url_in_use
from ...models.errors import InvalidInput
from ...state.redis.connect import connect
from .exporter import MetricsCollector
from .reader import MetricsReader
from .refresher import MetricsRefresher


def export_metrics(
    client: Redis, *, stuck_after_ms: int, registry: CollectorRegistry = REGISTRY
) -> Callable[[], None]:
    """Start to read the metrics, and add them to a registry.

    Args:
        client: Client that decodes responses; its Redis may be unavailable.
        stuck_after_ms: Milliseconds without progress after which an active session counts as stuck.
        registry: Registry that is scraped. Flower serves the default one.

    Returns:
        Function that removes the metrics from the registry and ends the reading.
    """
    refresher = MetricsRefresher(MetricsReader(client, stuck_after_ms=stuck_after_ms).read)
    collector = MetricsCollector(refresher)
    registry.register(collector)
    refresher.start()

    def withdraw() -> None:
        registry.unregister(collector)
        refresher.close()

    return withdraw


@cache
def export_to_flower() -> None:
    """Add the metrics to the registry that Flower serves, once per process. The first scrape starts the reading.

    The settings are read by then, so that a Flower whose metrics nobody scrapes does not connect.
    """

    @cache
    def reader() -> MetricsReader:
        settings = load_settings()
        client = connect(redis_url_in_use(settings))
        return MetricsReader(client, stuck_after_ms=int(settings.stuck_after_s * 1000))

    REGISTRY.register(MetricsCollector(MetricsRefresher(lambda: reader().read())))


def serve_metrics(address: str, port: int, *, registry: CollectorRegistry = REGISTRY) -> Callable[[], None]:
    """Serve a registry over HTTP, at `/metrics`.

    Args:
        address: Address to listen on.
        port: Port to listen on.
        registry: Registry to serve.

    Returns:
        Function that ends the server.

    Raises:
        InvalidInput: the address or port cannot be used.
    """
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        reason = f"cannot be used on {address}: {error.strerror or error}"
        raise InvalidInput("metrics port", port, reason) from None

    def close() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return close
