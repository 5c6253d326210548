"""A Redis client that counts its round trips."""

from __future__ import annotations

from typing import Any

from redis import Connection, ConnectionPool, Redis


class RoundTrips:
    """How often something was sent and answered, since the last look."""

    def __init__(self) -> None:
        self.count = 0

    def taken(self) -> int:
        taken, self.count = self.count, 0
        return taken


def counting_client(url: str) -> tuple[Redis, RoundTrips]:
    """A client for `url`, connected already, and its count: a pipeline counts once, as it is sent."""
    trips = RoundTrips()

    class Counting(Connection):
        def send_packed_command(self, command: Any, check_health: bool = True) -> None:
            trips.count += 1
            super().send_packed_command(command, check_health)

    pool = ConnectionPool.from_url(url, connection_class=Counting, decode_responses=True)
    client = Redis(connection_pool=pool)
    client.ping()
    trips.taken()
    return client, trips
