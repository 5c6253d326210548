"""The stop of the server of callbacks: open requests are answered first."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

from scaling import patient
from servers.ports import own_port
from servers.remote_system import post
from symposia.workers.callbacks import CallbackResponse, CallbackServer


@dataclass
class SlowReceiver:
    """Answers when it may, as a receiver whose Redis is slow."""

    began: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)

    def receive(self, _headers: dict[str, str], _body: bytes) -> CallbackResponse:
        self.began.set()
        self.may_answer.wait(patient(20))
        return CallbackResponse(200)


async def stop_with_an_open_request(receiver: Any, *, drain_s: float) -> asyncio.Task[tuple[int, Any]]:
    """Cancel the server while it answers one request; return that request."""
    port = own_port()
    server = CallbackServer(receiver, max_message_bytes=1_024)
    serving = asyncio.ensure_future(server.serve(host="127.0.0.1", port=port, drain_s=drain_s))
    await asyncio.sleep(0)  # it listens
    request = asyncio.create_task(asyncio.to_thread(post, f"http://127.0.0.1:{port}/replies", {}))
    await asyncio.to_thread(receiver.began.wait, patient(20))
    serving.cancel()
    await asyncio.wait([serving], timeout=0 if drain_s else patient(20))
    assert serving.done() is not bool(drain_s)
    receiver.may_answer.set()
    await asyncio.wait([serving, request], timeout=patient(20))
    return request


def test_open_request_is_answered_before_the_end() -> None:
    request = asyncio.run(stop_with_an_open_request(SlowReceiver(), drain_s=patient(20)))
    assert request.result()[0] == 200


def test_stop_does_not_wait_without_limit() -> None:
    request = asyncio.run(stop_with_an_open_request(SlowReceiver(), drain_s=0))
    assert isinstance(request.exception(), OSError)
