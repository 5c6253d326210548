"""Pages of browsers, for benchmarks/dashboard.py: they read streams or poll, and record how late each change arrives."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

HOST = "127.0.0.1"
#: Seconds between two requests of a page that polls.
POLL_S = 1.0
#: Seconds after which an answer, or a change that a page has not seen, is lost.
LATEST_S = 20
#: Query of the pages of the list, and what is read of their HTML: the token, and the time of a row's last change.
QUERY = "per_page=100"
TOKEN = re.compile(r'data-sent="([^"]+)"')
CHANGED = re.compile(r'c-time num"><time datetime="([^"]+)"')
#: What the 12 tabs of an operator show: lists, and sessions that run.
FOLLOWED = (
    "", "status=failed", "status=active", "sort=-cost&since=7d", "q=letter", "agent=writer&since=30d", "group=agent",
    "attention=person", "", "SESSION", "SESSION", "SESSION",
)  # fmt: skip
#: A message of the benchmark contains its number and the time at which it was written.
MARK = re.compile(r"n(\d+)t(\d{13})")


class Connection:
    """A connection of a browser, which stays open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cookie: str) -> None:
        self._reader, self._writer, self._cookie = reader, writer, cookie

    @classmethod
    @asynccontextmanager
    async def open(cls, port: int, browser: str) -> AsyncIterator[Connection]:
        reader, writer = await asyncio.open_connection(HOST, port, limit=2**24)
        try:
            yield cls(reader, writer, f"symposia_browser={browser}")
        finally:
            writer.close()

    async def get(self, path: str) -> tuple[int, dict[str, str]]:
        """Request a path; return the status and the headers of the answer."""
        head = f"GET {path} HTTP/1.1\r\nHost: {HOST}:{self._writer.get_extra_info('peername')[1]}\r\n"
        self._writer.write(f"{head}Cookie: {self._cookie}\r\n\r\n".encode())
        status = int((await self._reader.readline()).split()[1])
        headers: dict[str, str] = {}
        while (line := (await self._reader.readline()).decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return status, headers

    async def body(self, path: str) -> bytes:
        """Request a path; return the body of the answer."""
        async with asyncio.timeout(LATEST_S):
            status, headers = await self.get(path)
            assert status == 200, (path, status)
            return await self._reader.readexactly(int(headers["content-length"]))

    async def lines(self) -> AsyncIterator[str]:
        """Yield the lines of a stream."""
        while line := await self._reader.readline():
            yield line.decode()


@dataclass
class Page:
    """A page: the changes that it saw, and how late it saw them."""

    browser: str = field(default_factory=lambda: secrets.token_urlsafe(8))
    #: The page reads no stream, because its browser has too many.
    polls: bool = False
    #: The page gets every change from now on.
    is_open: bool = False
    seen: set[str] = field(default_factory=set)
    delays_ms: list[float] = field(default_factory=list)

    def start_counting(self) -> None:
        """Forget what was seen before the measurement."""
        self.seen.clear()
        self.delays_ms.clear()

    def _record(self, name: str, at_ms: float) -> None:
        if name not in self.seen:
            self.seen.add(name)
            self.delays_ms.append(time.time() * 1000 - at_ms)


class ListPage(Page):
    """A page of the list, as fragments. It shows which sessions were suspended."""

    async def run(self, port: int) -> None:
        """Load the page and read its stream; poll if the browser has too many streams."""
        async with Connection.open(port, self.browser) as connection:
            found = TOKEN.search((await connection.body(f"/collabs?{QUERY}")).decode())
            token = found[1] if found else ""
        async with Connection.open(port, self.browser) as connection:
            status, _ = await connection.get(f"/api/collabs/stream?view=collabs&{QUERY}&after={token}")
            if status == 200:
                self.is_open = True
                await self._read(connection)
                return
            assert status == 204, status
            self.polls = True
        async with Connection.open(port, self.browser) as connection:
            await self._poll(connection, token)

    async def _read(self, connection: Connection) -> None:
        kind = ""
        async for line in connection.lines():
            if line.startswith("event: "):
                kind = line[7:].strip()
            elif kind == "fragments" and line.startswith("data: "):
                self._see(json.loads(line[6:]))

    async def _poll(self, connection: Connection, token: str) -> None:
        self.is_open = True
        while True:
            path = f"/api/collabs/changes?view=collabs&{QUERY}&after={token}"
            answer = json.loads(await connection.body(path))
            token = answer["after"]
            self._see(answer)
            await asyncio.sleep(POLL_S)

    def _see(self, fragments: dict[str, Any]) -> None:
        for name, html in fragments.get("html", {}).items():
            if name.startswith("row-") and "state suspended" in html and (changed := CHANGED.search(html)):
                self._record(name, datetime.fromisoformat(changed[1]).timestamp() * 1000)


@dataclass
class SessionPage(Page):
    """A page of one session. It shows messages as their Markdown is rendered by the server."""

    session_id: str = ""

    async def run(self, port: int) -> None:
        """Read the stream of the session."""
        async with Connection.open(port, self.browser) as connection:
            status, _ = await connection.get(f"/api/collabs/{self.session_id}/stream")
            assert status == 200, status
            self.is_open = True
            async for line in connection.lines():
                for mark in MARK.finditer(line) if line.startswith("data: ") else ():
                    self._record(f"{self.session_id} {mark[1]}", int(mark[2]))


@dataclass
class Visitor:
    """A person who opens the page of a session again and again."""

    session_id: str
    took_ms: list[float] = field(default_factory=list)

    async def run(self, port: int) -> None:
        """Load the page and its data once a second."""
        async with Connection.open(port, secrets.token_urlsafe(8)) as connection:
            while True:
                began = time.perf_counter()
                for path in (f"/collabs/{self.session_id}", f"/api/collabs/{self.session_id}"):
                    await connection.body(path)
                self.took_ms.append((time.perf_counter() - began) * 1000)
                await asyncio.sleep(POLL_S)


@dataclass
class Tab:
    """A tab that loads a page and reads its stream, of the list or of a session that runs.

    Args:
        query: Query of the list, or `SESSION`.
        choose: Returns the id of a session that runs.
    """

    query: str
    choose: Callable[[], str]
    events: int = 0
    received: int = 0

    async def run(self, port: int) -> None:
        """Read streams; when a session has ended, go to another one."""
        browser = secrets.token_urlsafe(8)
        while True:
            page, stream = f"/collabs?{self.query}", f"/api/collabs/stream?view=collabs&{self.query}"
            if self.query == "SESSION":
                session_id = self.choose()
                page, stream = f"/collabs/{session_id}", f"/api/collabs/{session_id}/stream?"
            async with Connection.open(port, browser) as connection:
                match = TOKEN.search((await connection.body(page)).decode())
            async with Connection.open(port, browser) as connection:
                status, _ = await connection.get(f"{stream}&after={match[1] if match else ''}")
                assert status == 200, (stream, status)
                async for line in connection.lines():
                    self.received += len(line)
                    self.events += line.startswith("event: ")
                    if line.startswith("event: end"):
                        break
            await asyncio.sleep(POLL_S)
