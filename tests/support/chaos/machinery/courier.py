"""A faulty message path between senders and workers: it copies, shuffles and loses messages.

The product sends to its usual queue; the workers of an arena with a courier listen to `DELIVERED`.
"""

from __future__ import annotations

import json
import random
import threading
import time
from dataclasses import dataclass
from uuid import uuid4

from redis import Redis
from redis.exceptions import RedisError

from scaling import patient

SENT = "symposia"
DELIVERED = "symposia-delivered"


@dataclass(frozen=True, slots=True)
class Manners:
    """How messages are delivered."""

    copies: int = 1
    #: Share that never arrives.
    loses: float = 0.0
    #: Seconds within which messages overtake each other.
    shuffles_s: float = 0.0


class Courier:
    """Carries messages until it is closed; `manners` may be changed at any time."""

    def __init__(self, url: str) -> None:
        self.manners = Manners()
        self.lost = 0
        self.copied = 0
        self._redis = Redis.from_url(url, socket_timeout=patient(5))
        self._bag: list[tuple[float, bytes]] = []
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chaos-courier", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread."""
        self._closed.set()
        self._thread.join()
        self._redis.close()

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self._carry()
            except (RedisError, OSError):
                time.sleep(0.05)  # what was in hand is lost, which is the fault of the post

    def _carry(self) -> None:
        wait_s = 0.02 if self._bag else 0.2
        if found := self._redis.brpop([SENT], timeout=wait_s):
            self._pack(found[1])
        now = time.monotonic()
        ready = [message for at, message in self._bag if at <= now]
        self._bag = [(at, message) for at, message in self._bag if at > now]
        if ready:
            self._redis.lpush(DELIVERED, *ready)

    def _pack(self, message: bytes) -> None:
        manners = self.manners
        if random.random() < manners.loses:
            self.lost += 1
            return
        for copy in range(manners.copies):
            self.copied += bool(copy)
            at = time.monotonic() + random.uniform(0, manners.shuffles_s)
            self._bag.append((at, _copied(message) if copy else message))


def _copied(message: bytes) -> bytes:
    """Return a copy with its own delivery tag, which identifies a message at the broker."""
    data = json.loads(message)
    data["properties"]["delivery_tag"] = str(uuid4())
    return json.dumps(data).encode()
