"""One blocking XREAD for all asynchronous followers of an event loop, on one connection; a second one has the commands.

A reader keeps its own cursors and gets a bounded buffer. It reads earlier entries itself, and then waits for those
that the hub reads. When its buffer is full, the buffer is dropped, and the reader reads again from its cursors: so a
slow reader loses nothing and costs no memory.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Mapping, Set
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.exceptions import RedisError

from ...models.errors import ClientClosed, RedisUnavailable
from ...models.text.ids import entry_key
from ..redis.connect import aconnect
from ..redis.keys import session_key
from ..redis.readers import Entry, read_batches, read_entries
from ..turns.deltas import LISTENING_EVERY_S, LISTENING_MS
from .reads import MAX_ENTRIES, StreamReads

T = TypeVar("T")
Batches = Mapping[str, list[Entry]]

#: Maximum number of entries that wait for one reader.
MAX_WAITING = 2_000
#: Milliseconds of one blocking read: a stream that is followed meanwhile is in the next one.
_BLOCK_MS = 100
#: Seconds for which the answer to "does the session exist" is used again.
_EXISTS_S = 1.0
#: Seconds between two attempts to cancel the reading task.
_CANCEL_S = 1.0


class HubReader:
    """One reader of streams of one session. Its methods are called one at a time.

    Args:
        hub: The hub.
    """

    def __init__(self, hub: StreamHub) -> None:
        self._hub = hub
        self.keys: frozenset[str] = frozenset()
        self._waiting: deque[Batches] = deque()
        self._size = 0
        self._is_behind = True
        self._wake = asyncio.Event()

    def feed(self, batches: Batches) -> None:
        """Add entries of one read of the hub."""
        self._size += sum(map(len, batches.values()))
        # A full batch may lack the entries that belong to those of another stream.
        is_cut = any(len(entries) >= MAX_ENTRIES for entries in batches.values())
        if is_cut or self._size > MAX_WAITING:
            self._clear(is_behind=True)
        else:
            self._waiting.append(batches)
        self._wake.set()

    def read_again(self) -> None:
        """Drop what waits: the next read begins at the cursors."""
        self._clear(is_behind=True)
        self._wake.set()

    def wake(self) -> None:
        """Let a waiting read raise the error of the hub."""
        self._wake.set()

    async def read(
        self, positions: Mapping[str, str], *, count: int, block_ms: int | None
    ) -> Mapping[str, list[Entry]]:
        """Return entries after the positions (by key), by key.

        Args:
            positions: The streams and their cursors.
            count: Maximum number of entries of each stream.
            block_ms: Milliseconds to wait for an entry. None: do not wait.

        Raises:
            ClientClosed: The client was closed.
            RedisUnavailable: Redis does not answer.
        """
        deadline = time.monotonic() + (block_ms or 0) / 1000
        while True:
            self._hub.check()
            if block_ms is None or self._is_behind or self.keys != positions.keys():
                batches = await self._read_again(positions, count)
                if batches or block_ms is None:
                    return batches
            while self._waiting:
                waiting = self._waiting.popleft()
                self._size -= sum(map(len, waiting.values()))
                if batches := _newer(waiting, positions):
                    return batches
            if self._is_behind:
                continue
            self._wake.clear()
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await self._wake.wait()
            except TimeoutError:
                return {}

    async def _read_again(self, positions: Mapping[str, str], count: int) -> Mapping[str, list[Entry]]:
        # It is registered before the read, so that it misses no entry.
        self._clear(is_behind=False)
        self._hub.register(self, frozenset(positions))
        batches = await self.read_now(positions, count=count)
        if any(len(entries) >= count for entries in batches.values()):
            self._is_behind = True
        else:
            self._hub.watch(
                {key: batches[key][-1][0] if key in batches else positions[key] for key in positions}
            )
        return batches

    async def read_now(self, positions: Mapping[str, str], *, count: int) -> Mapping[str, list[Entry]]:
        """Return entries after the positions, without waiting."""
        answer = await self._hub.call(lambda redis: redis.xread(dict(positions), count=count))
        return read_batches(answer)

    async def newest(self, key: str) -> list[Entry]:
        """Return the newest entry of a stream."""
        return read_entries(await self._hub.call(lambda redis: redis.xrevrange(key, count=1)))

    async def exists(self, session_id: str) -> bool:
        """Return whether Redis holds a session, as of the last second."""
        return await self._hub.exists(session_id)

    async def announce(self, session_id: str) -> None:
        """Register a reader of live output, so that models stream it."""
        await self._hub.announce(session_id)

    def _clear(self, *, is_behind: bool) -> None:
        self._waiting.clear()
        self._size = 0
        self._is_behind = is_behind


class StreamHub:
    """Reads the streams of all readers of one event loop. It must be created in the loop.

    Args:
        redis: The client, which the hub closes.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis: Any = redis
        self._reads = StreamReads(redis, block_ms=_BLOCK_MS)
        #: Held by a command, so that all of them use one connection.
        self._commands = asyncio.Lock()
        self._readers: set[HubReader] = set()
        self._readers_of: defaultdict[str, set[HubReader]] = defaultdict(set)
        #: Key -> id of the newest entry that was read.
        self._positions: dict[str, str] = {}
        self._has_streams = asyncio.Event()
        self._error: Exception | None = None
        #: Session -> (time at which the answer is too old, whether it exists).
        self._existing: dict[str, tuple[float, bool]] = {}
        #: Session -> time of the next registration as a reader of live output.
        self._announced: dict[str, float] = {}
        self._task = asyncio.create_task(self._run())

    @property
    def is_usable(self) -> bool:
        """Whether the hub has neither failed nor been closed."""
        return self._error is None

    @property
    def has_readers(self) -> bool:
        """Whether there is a reader."""
        return bool(self._readers)

    def check(self) -> None:
        """Raise the error that ended the hub."""
        if self._error is not None:
            raise self._error.with_traceback(None)  # shared by all readers

    def add_reader(self) -> HubReader:
        """Return a new reader."""
        reader = HubReader(self)
        self._readers.add(reader)
        return reader

    def remove_reader(self, reader: HubReader) -> None:
        """Forget a reader, and the streams that only it follows."""
        self.register(reader, frozenset())
        self._readers.discard(reader)

    def register(self, reader: HubReader, keys: frozenset[str]) -> None:
        """Replace the streams of a reader."""
        for key in reader.keys - keys:
            self._readers_of[key].discard(reader)
            if not self._readers_of[key]:
                del self._readers_of[key]
                self._positions.pop(key, None)
        for key in keys:
            self._readers_of[key].add(reader)
        reader.keys = keys

    def watch(self, positions: Mapping[str, str]) -> None:
        """Read streams from some positions, unless they are read already."""
        for key, position in positions.items():
            self._positions.setdefault(key, position)
        self._has_streams.set()

    async def call(self, command: Callable[[Any], Any]) -> Any:
        """Return the answer to a command."""
        async with self._commands:
            self.check()
            return await command(self._redis)

    async def exists(self, session_id: str) -> bool:
        """Return whether Redis holds a session, as of the last second."""
        now = time.monotonic()
        until, exists = self._existing.get(session_id, (0.0, False))
        if now >= until:
            self._existing = {name: entry for name, entry in self._existing.items() if entry[0] > now}
            exists = bool(await self.call(lambda redis: redis.exists(session_key(session_id, "session"))))
            self._existing[session_id] = time.monotonic() + _EXISTS_S, exists
        return exists

    async def announce(self, session_id: str) -> None:
        """Register a reader of live output, unless that was done recently."""
        now = time.monotonic()
        if now >= self._announced.get(session_id, 0.0):
            self._announced = {name: at for name, at in self._announced.items() if at > now}
            key = session_key(session_id, "listening")
            await self.call(lambda redis: redis.set(key, 1, px=LISTENING_MS))
            self._announced[session_id] = now + LISTENING_EVERY_S

    def fail(self, error: Exception) -> None:
        """End all reads with an error."""
        self._error = self._error or error
        for reader in tuple(self._readers):
            reader.wake()

    async def close(self) -> None:
        """End all reads with ClientClosed, and close the connections."""
        self.fail(ClientClosed())
        while not self._task.done():
            self._task.cancel()
            # Before Python 3.12, `asyncio.wait_for` of redis-py may lose a cancellation.
            await asyncio.wait({self._task}, timeout=_CANCEL_S)
        async with self._commands:
            await self._redis.aclose()

    async def _run(self) -> None:
        try:
            while True:
                if not self._positions:
                    self._has_streams.clear()
                    await self._has_streams.wait()
                positions = dict(self._positions)
                self._hand_out(await self._reads.read(positions), positions.keys())
        except Exception as error:  # noqa: BLE001 - each reader raises it
            self.fail(error)

    def _hand_out(self, batches: Batches, asked: Set[str]) -> None:
        of_readers: defaultdict[HubReader, dict[str, list[Entry]]] = defaultdict(dict)
        for key, entries in batches.items():
            if key in self._positions:
                self._positions[key] = max(self._positions[key], entries[-1][0], key=entry_key)
            for reader in self._readers_of.get(key, ()):
                of_readers[reader][key] = entries
        for reader, own in of_readers.items():
            if reader.keys <= asked:
                reader.feed(own)
            else:  # it came meanwhile: entries of its other streams, which belong to these, were not read
                reader.read_again()


class StreamHubs:
    """The hubs of one client: one for each event loop that has a follower."""

    def __init__(self) -> None:
        self._hubs: dict[asyncio.AbstractEventLoop, StreamHub] = {}
        self._lock = threading.Lock()  # loops run in several threads

    @asynccontextmanager
    async def reader(self, url: str) -> AsyncGenerator[HubReader, None]:
        """Return a reader in this event loop. The hub is closed with its last reader.

        Args:
            url: The Redis of the sessions.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            self._hubs = {known: hub for known, hub in self._hubs.items() if not known.is_closed()}
            hub = self._hubs.get(loop)
            if hub is None or not hub.is_usable:
                hub = self._hubs[loop] = StreamHub(aconnect(url))
        reader = hub.add_reader()
        try:
            yield reader
        finally:
            hub.remove_reader(reader)
            if not hub.has_readers:
                with self._lock:
                    if self._hubs.get(loop) is hub:
                        del self._hubs[loop]
                await hub.close()

    async def close(self) -> None:
        """End all followers with ClientClosed."""
        with self._lock:
            hubs = tuple(self._hubs.items())
        for loop, hub in hubs:
            if loop is asyncio.get_running_loop():
                with suppress(RedisError, RedisUnavailable):
                    await hub.close()
            elif not loop.is_closed():
                with suppress(RuntimeError):  # it was closed meanwhile
                    loop.call_soon_threadsafe(hub.fail, ClientClosed())


def _newer(batches: Batches, positions: Mapping[str, str]) -> dict[str, list[Entry]]:
    newer = {}
    for key, entries in batches.items():
        if key in positions:
            after = entry_key(positions[key])
            if new_entries := [entry for entry in entries if entry_key(entry[0]) > after]:
                newer[key] = new_entries
    return newer
