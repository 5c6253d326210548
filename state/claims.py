"""Claims in Redis: what another system has named, such as the newest session of a thread. The client must decode."""

from __future__ import annotations

from redis import Redis

from .redis.keys import claim_key
from .redis.scripts import ScriptValue, call_script


class ClaimStore:
    """Claims by their names, each taken by one atomic step."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def read(self, name: str) -> str:
        """Return the value of a claim; empty: it is free."""
        return str(self._client.get(claim_key(name)) or "")

    def take(self, name: str, value: str, *, expected: str, ttl_ms: int) -> str:
        """Set the value of a claim if it has the expected one; empty: if it is free.

        Returns:
            The value that the claim has now: another caller may have been first.
        """
        args: dict[str, ScriptValue] = {"expected": expected, "value": value, "ttl_ms": ttl_ms}
        held: str = call_script(self._client, "claims/take", [claim_key(name)], args)[1]
        return held
