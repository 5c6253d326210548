"""Fuzzed messages of the broker end no worker and no reader of events; workers continue to answer."""

from __future__ import annotations

import base64
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import amqp
import pytest
from celery import Celery
from flower.events import EventsState
from hypothesis import strategies as st
from kombu import Connection

from documents.hammer import JSON, as_json, depths, garbled, hammer, nearly
from live import REGISTRY, LiveWorker, result_of, until
from scaling import patient
from servers.rabbit import Rabbit
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.celery import QUEUE
from symposia.config.settings import Settings, load_settings
from symposia.models.protocol.collab import Collab, Participant
from symposia.patches.control_messages import CheckedReceiver
from symposia.state.redis.connect import connect
from symposia.workers.worker_app import create_worker_app

pytestmark = [pytest.mark.timeout(600), pytest.mark.long]

REPLIES = "reply.celery.pidbox"
COMMAND = {
    "method": "rate_limit",
    "arguments": {"task_name": "symposia.none", "rate_limit": "1/s"},
    "destination": ["w1@live"],
    "pattern": None,
    "matcher": None,
    "ticket": "t",
    "reply_to": {"exchange": REPLIES, "routing_key": "k"},
}
TASK_EVENT = {
    "type": "task-received",
    "uuid": "1",
    "name": "n",
    "hostname": "w9@live",
    "clock": 5,
    "timestamp": 1.0,
    "utcoffset": 0,
    "pid": 1,
}
BEAT = {**TASK_EVENT, "type": "worker-heartbeat", "freq": 2.0, "active": 0}
ELECTION = {**BEAT, "type": "worker.elect", "id": "1", "topic": "task", "action": {}, "cver": 1}
TASK = [[], {"session": "0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d11"}, {}]
TASK_HEADERS = {
    "lang": "py", "task": "symposia.advance", "id": "1", "root_id": "1", "retries": 0, "eta": None, "expires": None,
    "timelimit": [None, None], "ignore_result": True, "origin": "x", "stamps": {}, "symposia_sent_ms": 1,
}  # fmt: skip
DEEP = "[" * 50_000 + "]" * 50_000
#: Contents by exchange and routing key.
CONTENTS: dict[tuple[str, str], st.SearchStrategy[Any]] = {
    ("celery.pidbox", ""): nearly(COMMAND, {"method": "ping"}, {**COMMAND, "method": "hello"}),
    ("celeryev", "worker.heartbeat"): nearly(BEAT, [BEAT, TASK_EVENT]),
    ("celeryev", "worker.elect"): nearly(ELECTION),
    ("celeryev", "task.multi"): nearly(TASK_EVENT, [TASK_EVENT]),
    ("", QUEUE): nearly(TASK),
}
HEADERS = st.one_of(nearly({"clock": 1, "expires": 0, "hostname": "w9@live"}), nearly(TASK_HEADERS))


def envelope(body: str, headers: Any, route: tuple[str, str]) -> dict[str, Any]:
    """A message as kombu's Redis transport sends it."""
    return {
        "body": base64.b64encode(body.encode(errors="replace")).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": headers,
        "properties": {
            "delivery_info": {"exchange": route[0], "routing_key": route[1]},
            "delivery_mode": 2,
            "delivery_tag": "1",
            "body_encoding": "base64",
        },
    }


@st.composite
def messages(draw: st.DrawFn) -> tuple[tuple[str, str], str, Any]:
    """Route, body and headers of a message."""
    route = draw(st.sampled_from(list(CONTENTS)))
    body = draw(st.just(DEEP) | garbled(as_json(CONTENTS[route])) | as_json(CONTENTS[route] | JSON))
    return route, body, draw(HEADERS)


@st.composite
def raw_messages(draw: st.DrawFn) -> tuple[tuple[str, str], bytes]:
    """Route and bytes of a message in Redis."""
    route, body, headers = draw(messages())
    whole = as_json(nearly(envelope(body, headers, route)))
    raw = draw(whole | garbled(whole) | as_json(JSON) | st.just(DEEP))
    return route, raw.encode(errors="replace") if draw(st.integers(0, 9)) else draw(st.binary(max_size=20))


class Site:
    """A worker with its settings, and an app that asks it."""

    def __init__(self, folder: Path, redis_url: str, broker_url: str) -> None:
        (folder / "agents.toml").write_text(REGISTRY)
        self.settings: Settings = load_settings(
            redis_url=redis_url, broker_url=broker_url, agents_file=folder / "agents.toml", data_dir=folder
        )
        environment = {
            "SYMPOSIA_REDIS_URL": redis_url,
            "SYMPOSIA_BROKER_URL": broker_url,
            "SYMPOSIA_AGENTS_FILE": str(folder / "agents.toml"),
            "SYMPOSIA_DATA_DIR": str(folder),
            "SYMPOSIA_SWEEP_INTERVAL_S": "0.2",
        }
        self.worker = LiveWorker(
            "w1", folder, environment, app="symposia.workers", concurrency=2, neighbours=True
        )
        self.app: Celery = create_worker_app(self.settings)

    def check_alive(self) -> None:
        """The worker runs and answers."""
        until(
            lambda: self.app.control.ping(timeout=1, limit=1) or self.worker.process.poll() is not None,
            what="the worker answers",
        )
        assert self.worker.process.poll() is None, self.worker.log()[-5000:]

    def check_runs(self) -> None:
        """The worker runs sessions, never lost its broker, and the app captures events."""
        assert "Unrecoverable error" not in self.worker.log()
        assert self.worker.lost_connections() == 0, self.worker.log()[-5000:]
        people = [Participant(participant_id="ann"), Participant(participant_id="bob")]
        collab = Collab(title="t", purpose="p", mode="round_robin", participants=people)
        job = Client(self.settings).submit(
            collab, agents={"ann": "say", "bob": "say"}, stop={"max_rounds": 1}
        )
        assert result_of(job).ok

    def close(self) -> None:
        self.worker.close()


@pytest.fixture(scope="module")
def redis_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("redis")
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
        site = Site(folder, server.url, server.url)
        site.worker.wait_ready()
        yield site
        site.close()


def put(client: Any, route: tuple[str, str], raw: bytes) -> None:
    """Send a message past kombu."""
    exchange, key = route
    if not exchange:
        client.lpush(key, raw)
    else:
        client.publish(f"/0.{exchange}/{key}" if key else f"/0.{exchange}", raw)


class Reader:
    """A thread that captures events and keeps Flower's state of them."""

    def __init__(self, app: Celery) -> None:
        self.state = EventsState(max_tasks_in_memory=100)
        self._app, self._is_closed = app, False
        self._thread = threading.Thread(target=self._capture, daemon=True)
        self._thread.start()

    def _capture(self) -> None:
        with self._app.connection() as connection:
            receiver = CheckedReceiver(connection, app=self._app, handlers={"*": self._note})
            while not self._is_closed:
                with suppress(socket.timeout):
                    receiver.capture(limit=None, timeout=1, wakeup=False)

    def _note(self, event: dict[str, Any]) -> None:
        with suppress(Exception):  # Flower's loop logs it, and continues
            self.state.event(event)

    def close(self) -> None:
        assert self._thread.is_alive(), "an event ended the reader"
        self._is_closed = True
        self._thread.join(patient(10))


def attack(site: Site, send: Callable[[Any], object], inputs: st.SearchStrategy[Any], examples: int) -> None:
    """Send many messages; the worker answers after each, and everything works at the end."""
    reader = Reader(site.app)

    def use(message: Any) -> None:
        send(message)
        site.check_alive()

    hammer(inputs, use, examples=examples)
    seen = reader.state.counter["w1@live"].total()
    site.check_runs()
    until(lambda: reader.state.counter["w1@live"].total() > seen, what="events are still captured")
    reader.close()


@depths
def test_fuzzed_messages_over_redis(redis_site: Site, examples: int) -> None:
    with connect(redis_site.settings.redis_url.get_secret_value()) as client:
        attack(redis_site, lambda message: put(client, *message), raw_messages(), examples)
        assert not client.llen(QUEUE)


@depths
@pytest.mark.xdist_group("rabbitmq")
def test_fuzzed_messages_over_rabbitmq(
    rabbit: Rabbit, amqp_url: str, redis_url: str, tmp_path: Path, examples: int
) -> None:
    site = Site(tmp_path, redis_url, amqp_url)
    try:
        site.worker.wait_ready()
        site.check_alive()
        with Connection(amqp_url) as connection:

            def send(message: tuple[tuple[str, str], str, Any]) -> None:
                (exchange, key), body, headers = message
                with suppress(
                    amqp.serialization.FrameSyntaxError, TypeError, struct.error, UnicodeError, ValueError
                ):
                    connection.Producer().publish(
                        body.encode(errors="replace"),
                        exchange=exchange,
                        routing_key=key,
                        headers=headers if isinstance(headers, dict) else {"task": headers},
                        content_type="application/json",
                        content_encoding="utf-8",
                    )

            attack(site, send, messages(), examples)
            for route in CONTENTS:
                connection.default_channel.basic_publish(DeepHeaders(b"{}"), *route)
            site.check_alive()
        site.check_runs()
        until(lambda: rabbit.queues(amqp_url)[QUEUE].unacknowledged == 0, what="all is settled")
    finally:
        site.close()


class DeepHeaders(amqp.Message):
    """A message whose headers are nested deep."""

    def _serialize_properties(self) -> bytes:
        table = b""
        for _ in range(5_000):
            table = b"\x01aF" + struct.pack(">I", len(table)) + table
        return struct.pack(">HI", 1 << 13, len(table)) + table


REPLY = {"w1@live": {"ok": "pong"}}


@depths
def test_fuzzed_replies_to_control_commands(redis_site: Site, examples: int) -> None:
    """Anybody who hears a command knows where its sender waits for replies."""
    bodies = garbled(as_json(nearly(REPLY))) | as_json(nearly(REPLY) | JSON) | st.just(DEEP)
    headers = nearly({"ticket": "t", "clock": 1, "expires": 0})
    whole = st.tuples(bodies, headers).flatmap(lambda it: nearly(envelope(*it, (REPLIES, ""))))
    next_reply = b""

    def answer(heard: dict[str, Any]) -> None:
        command = json.loads(base64.b64decode(json.loads(heard["data"])["body"]))
        client.lpush(f"{command['reply_to']['routing_key']}.{REPLIES}", next_reply)

    def use(raw: str) -> None:
        nonlocal next_reply
        next_reply = raw.encode(errors="replace")
        found = redis_site.app.control.inspect(timeout=0.2).ping()
        assert found is None or isinstance(found, dict)

    with connect(redis_site.settings.redis_url.get_secret_value()) as client, client.pubsub() as heard:
        heard.subscribe(**{"/0.celery.pidbox": answer})
        thread = heard.run_in_thread(daemon=True)
        try:
            hammer(garbled(as_json(whole)) | as_json(whole), use, examples=examples // 4)
        finally:
            thread.stop()
            thread.join(patient(10))
    until(lambda: "w1@live" in (redis_site.app.control.inspect().ping() or {}), what="the worker answers")
