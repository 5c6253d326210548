"""Foreign messages in the queue are refused or have no effect; the worker continues."""

from __future__ import annotations

import base64
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest
from kombu import compression

from live import result_of, until
from symposia.config.celery import QUEUE
from symposia.state.redis.connect import connect


class Harm:
    """Unpickled, it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.path),)


def envelope(body: bytes, content_type: str, *, task: str, encoding: str = "binary") -> str:
    """A message as kombu's Redis transport puts it on the queue."""
    task_id = str(uuid4())
    return json.dumps(
        {
            "body": base64.b64encode(body).decode(),
            "content-encoding": encoding,
            "content-type": content_type,
            "headers": {"lang": "py", "task": task, "id": task_id, "root_id": task_id, "retries": 0},
            "properties": {
                "correlation_id": task_id,
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": QUEUE},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": str(uuid4()),
            },
        }
    )


def stripped(message: str, *path: str) -> str:
    """A message without one of its parts."""
    whole: dict[str, Any] = json.loads(message)
    part = whole
    for name in path[:-1]:
        part = part[name]
    del part[path[-1]]
    return json.dumps(whole)


def json_task(task: str, *args: Any, **kwargs: Any) -> str:
    body = json.dumps([list(args), kwargs, {}]).encode()
    return envelope(body, "application/json", task=task, encoding="utf-8")


def a_session_still_runs(guarded) -> None:
    job = guarded.submit("say", "echo", stop={"max_rounds": 1})
    assert result_of(job).ok


def push(guarded, message: str) -> None:
    with connect(guarded.settings.redis_url.get_secret_value()) as client:
        client.lpush(QUEUE, message)
        until(lambda: not client.llen(QUEUE), what="the message was taken")


def refusals(guarded) -> int:
    log = guarded.worker.log()
    return log.count("Refusing to deserialize") + log.count("rejecting message that is not a task")


@pytest.mark.parametrize("task", ["symposia.turn", "celery.map"])
@pytest.mark.parametrize(
    "content_type", ["application/x-python-serialize", "application/x-yaml", "application/data", "text/plain"]
)
def test_a_message_that_is_not_json_is_refused_unread(guarded, tmp_path, task, content_type):
    target = tmp_path / "harm"
    bodies = {
        "application/x-python-serialize": pickle.dumps(((), {"session": Harm(target)}, {})),
        "application/x-yaml": f"!!python/object/apply:os.mkdir ['{target}']".encode(),
    }
    body = bodies.get(content_type, bodies["application/x-python-serialize"])
    before = refusals(guarded)
    push(guarded, envelope(body, content_type, task=task))
    until(lambda: refusals(guarded) > before, what="it is refused")
    assert not target.exists()
    a_session_still_runs(guarded)


SESSION = "0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d11"
TURN = {"turn": 1, "participant": "p0", "mode": "pair", "scope": "floor"}


@pytest.mark.parametrize(
    "message",
    [
        json_task("os.system", "mkdir HARM"),
        json_task("symposia.turn", session=SESSION, **TURN),
        json_task("symposia.turn", session="}{*", **TURN),
        json_task("symposia.turn", session="*", **{**TURN, "scope": "*}:{*"}),
        json_task("symposia.turn", session=["a"], **TURN),
        json_task("symposia.turn", session={"__class__": "os"}, **{**TURN, "turn": {}}),
        json_task("symposia.turn", session=SESSION, **{**TURN, "mode": "os.system"}),
        json_task("symposia.turn", session=SESSION, callable="os:system", **TURN),
        json_task("symposia.turn", "positional"),
        json_task("symposia.advance", session="../../etc/passwd"),
        json_task("symposia.advance", session=None),
        json_task("symposia.advance", session=10**400),
        json_task("symposia.advance", session="x" * 1_000_000),
        json_task("symposia.advance", file="/etc/passwd", host="127.0.0.1"),
        json_task("celery.backend_cleanup"),
        json_task("celery.map", {"task": "symposia.advance"}, [[SESSION]]),
        json_task("celery.chunks", {"task": "os.system"}, [["true"]]),
        stripped(json_task("symposia.advance", session=SESSION), "headers", "id"),
        stripped(json_task("symposia.advance", session=SESSION), "headers", "task"),
        stripped(json_task("symposia.advance", session=SESSION), "headers"),
        stripped(json_task("symposia.advance", session=SESSION), "content-type"),
        envelope(b"{", "application/json", task="symposia.turn", encoding="utf-8"),
        envelope(b"[[], {}]", "application/json", task="symposia.turn", encoding="utf-8"),
        envelope(b"null", "application/json", task="symposia.turn", encoding="utf-8"),
        envelope(b"\xff\xfe", "application/json", task="symposia.turn", encoding="utf-8"),
        envelope(b"[[], {}, {}]", "application/json", task="symposia.turn", encoding="rot13"),
    ],
    ids=lambda message: json.loads(message).get("headers", {}).get("task", "none"),
)
def test_foreign_message_changes_nothing(guarded, message):
    with connect(guarded.settings.redis_url.get_secret_value()) as client:
        before = set(client.scan_iter("symposia:{*"))
        push(guarded, message)
        a_session_still_runs(guarded)
        grown = set(client.scan_iter("symposia:{*")) - before
    tags = {key.partition("}")[0] for key in grown} - {"symposia:{metrics", "symposia:{workers"}
    assert len(tags) == 1, "but for the session that still ran"
    assert guarded.worker.process.poll() is None


def enveloped(**changes: Any) -> str:
    """A message whose envelope has other parts."""
    whole = json.loads(json_task("symposia.advance", session=SESSION))
    return json.dumps({**whole, **changes})


PROPERTIES = json.loads(json_task("symposia.advance", session=SESSION))["properties"]
ENVELOPES = {
    "nothing": b"",
    "no JSON": b"hello",
    "bytes": b"\xff\xfe\x00",
    "cut off": json_task("symposia.advance", session=SESSION)[:50].encode(),
    "a number": b"7",
    "a list": b"[]",
    "null": b"null",
    "very deep": b"[" * 100_000,
    "no properties": stripped(json_task("symposia.advance", session=SESSION), "properties").encode(),
    "no tag": stripped(json_task("symposia.advance", session=SESSION), "properties", "delivery_tag").encode(),
    "no delivery": stripped(
        json_task("symposia.advance", session=SESSION), "properties", "delivery_info"
    ).encode(),
    "properties a list": enveloped(properties=[]).encode(),
    "a tag that is none": enveloped(properties={**PROPERTIES, "delivery_tag": {}}).encode(),
    "a delivery that is none": enveloped(properties={**PROPERTIES, "delivery_info": 7}).encode(),
    "an encoding nobody has": enveloped(properties={**PROPERTIES, "body_encoding": "rot13"}).encode(),
    "a body that is no base64": enveloped(body="*").encode(),
    "headers a list": enveloped(headers=[]).encode(),
    "headers a text": enveloped(headers="x").encode(),
    "a type that is none": enveloped(**{"content-type": {}}).encode(),
}


@pytest.mark.parametrize("garbage", ENVELOPES.values(), ids=ENVELOPES)
def test_garbage_envelope_does_not_stop_the_worker(guarded, garbage):
    with connect(guarded.settings.redis_url.get_secret_value()) as client:
        for _ in range(3):
            client.lpush(QUEUE, garbage)
        until(lambda: not client.llen(QUEUE), what="the messages were taken")
    a_session_still_runs(guarded)
    assert guarded.worker.process.poll() is None, guarded.worker.log()
    assert "Unrecoverable error" not in guarded.worker.log()
    assert guarded.worker.lost_connections() == 0


#: Decoded, it takes twenty times as many bytes.
LARGE = "[" + "[]," * 4_000_000 + "[]]"
ARGUMENTS = json.dumps([[], {"session": "x" * 100_000_000}, {}]).encode()


def compressed(name: str) -> bytes:
    """A small message whose body is large."""
    body, content_type = compression.compress(ARGUMENTS, name)
    whole = json.loads(envelope(body, "application/json", task="symposia.advance", encoding="utf-8"))
    whole["headers"]["compression"] = content_type
    return json.dumps(whole).encode()


def peak_bytes(guarded) -> int:
    """The most memory that the worker or a child of it has had."""
    process = psutil.Process(guarded.worker.process.pid)
    status = [
        Path(f"/proc/{it.pid}/status").read_text() for it in (process, *process.children(recursive=True))
    ]
    return max(int(text.split("VmHWM:")[1].split()[0]) * 1024 for text in status if "VmHWM:" in text)


@pytest.mark.parametrize("kind", ["envelope", "body", "gzip", "bzip2"])
def test_large_message_is_refused_undecoded(guarded, kind):
    message = {
        "envelope": LARGE.encode,
        "body": lambda: envelope(
            LARGE.encode(), "application/json", task="symposia.advance", encoding="utf-8"
        ).encode(),
    }.get(kind, lambda: compressed(kind))()
    before = peak_bytes(guarded)
    push(guarded, message)
    a_session_still_runs(guarded)
    assert peak_bytes(guarded) - before < 80_000_000
    assert guarded.worker.process.poll() is None
    told = (
        "compressed messages are not accepted"
        if kind in ("gzip", "bzip2")
        else "bytes exceed the limit of 1,048,576"
    )
    assert told in guarded.worker.log()


def test_large_broadcast_is_refused_undecoded(guarded):
    before = peak_bytes(guarded)
    with connect(guarded.settings.redis_url.get_secret_value()) as client:
        assert client.publish("/0.celery.pidbox", LARGE)
    until(lambda: f"{len(LARGE):,} bytes exceed the limit" in guarded.worker.log(), what="it is refused")
    a_session_still_runs(guarded)
    assert peak_bytes(guarded) - before < 80_000_000


BROADCASTS = {
    "a list": b"[]",
    "a number": b"7",
    "null": b"null",
    "very deep": b"[" * 60_000 + b"]" * 60_000,
}


@pytest.mark.parametrize("garbage", BROADCASTS.values(), ids=BROADCASTS)
@pytest.mark.parametrize("channel", ["/0.celery.pidbox", "/0.celeryev/worker.heartbeat"])
def test_garbage_broadcast_does_not_stop_the_worker(guarded, channel, garbage):
    with connect(guarded.settings.redis_url.get_secret_value()) as client:
        client.publish(channel, garbage)
    a_session_still_runs(guarded)
    assert guarded.worker.process.poll() is None, guarded.worker.log()
    assert guarded.worker.lost_connections() == 0
