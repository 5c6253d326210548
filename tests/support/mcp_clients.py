"""Clients of MCP servers in tests: a time limit, forms that answer, and waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from mcp import types

from scaling import patient

#: Protocol of the handshake, and that of 2026-07-28, where the server sends no requests.
ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])

#: The first message of a client of the handshake.
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def run(steps: Coroutine[Any, Any, None]) -> None:
    """Run a test within a time limit."""
    asyncio.run(asyncio.wait_for(steps, patient(50)))


def answering(action: str, answer: str | None = None, seen: list[Any] | None = None) -> Any:
    """Return a form of a client that gives an answer; `seen` gets what it was shown."""

    async def form(_context: object, params: types.ElicitRequestFormParams) -> types.ElicitResult:
        if seen is not None:
            seen.append(params)
        return types.ElicitResult(action=action, content=None if answer is None else {"answer": answer})

    return form


async def until_true(condition: Callable[[], Awaitable[object]], what: str) -> None:
    deadline = time.monotonic() + patient(30)
    while not await condition():
        assert time.monotonic() < deadline, what
