"""Defects of unpatched libraries. If a test fails, the library is fixed and its patch can be removed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from celery import Celery
from celery.concurrency.thread import TaskPool
from kombu import Connection, Exchange, Queue
from kombu.clocks import LamportClock
from kombu.pidbox import Mailbox
from redis import Redis
from redis.connection import AbstractConnection, parse_url
from redis.sentinel import SentinelManagedConnection

from live import until
from scaling import patient
from symposia.patches.control_messages import BoundedClock, CheckedMailbox
from symposia.patches.redis_connections import MasterConnection


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process that has imported no patch."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )


# -- patches/redis_connections.py ------------------------------------------------------------------

PACK_NUMBER = """
from redis.connection import HiredisRespSerializer

class Interrupted(float):
    def __repr__(self):
        raise KeyboardInterrupt

HiredisRespSerializer().pack("SET", "key", Interrupted(0.5))
"""


def test_hiredis_crashes_if_a_number_has_no_text():
    assert run(PACK_NUMBER).returncode == -signal.SIGSEGV


# -- patches/redis_sdk_import.py -------------------------------------------------------------------

IMPORT_REDIS = """
import sys
if sys.argv[1:]:
    from symposia.patches.redis_sdk_import import refuse_sdk_to_redis
    refuse_sdk_to_redis()
import redis
print(*[it for it in ("opentelemetry.metrics", "opentelemetry.sdk.metrics") if it in sys.modules])
import opentelemetry.sdk.metrics
"""


def test_redis_py_imports_the_sdk_of_opentelemetry():
    assert run(IMPORT_REDIS).stdout == "opentelemetry.metrics opentelemetry.sdk.metrics\n"


def test_the_sdk_is_refused_only_to_redis_py():
    patched = run(IMPORT_REDIS, "patched")
    assert (patched.returncode, patched.stdout) == (0, "\n")


# -- patches/redis_connections.py -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "host"), [(SentinelManagedConnection, "127.0.0.1"), (MasterConnection, "localhost")]
)
def test_redis_py_reconnects_to_the_former_master(redis_url, kind, host):
    """redis/redis-py#3874."""
    address = parse_url(redis_url)
    masters = iter([("127.0.0.1", address["port"]), ("localhost", address["port"])])
    pool = SimpleNamespace(is_master=True, check_connection=False, get_master_address=lambda: next(masters))
    connection = kind(connection_pool=pool, password=address["password"])
    connection.connect()
    connection.disconnect()
    connection.send_command("PING")
    assert (connection.host, connection.read_response()) == (host, b"PONG")
    connection.disconnect()


INTERRUPT_READ = """
import signal, sys
from types import SimpleNamespace
from redis.connection import parse_url
from {module} import {kind}

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
address = parse_url(sys.argv[1])
pool = SimpleNamespace(
    is_master=True, check_connection=False, get_master_address=lambda: (address["host"], address["port"])
)
connection = {kind}(connection_pool=pool, password=address["password"])
connection.connect()
connection.send_command("BLPOP", "nothing", 30)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    connection.read_response()
except KeyboardInterrupt:
    print(connection.is_connected)
"""


@pytest.mark.parametrize(
    ("module", "kind", "connected"),
    [
        ("redis.sentinel", "SentinelManagedConnection", "True"),
        ("symposia.patches.redis_connections", "MasterConnection", "False"),
    ],
)
def test_redis_py_keeps_a_connection_with_an_answer(redis_url, module, kind, connected):
    """redis/redis-py#4292."""
    done = run(INTERRUPT_READ.format(module=module, kind=kind), redis_url)
    assert (done.stdout.strip(), done.stderr) == (connected, "")


# -- patches/kombu_transport.py ----------------------------------------------------------------


def test_kombu_makes_a_client_for_each_command(redis_url):
    with Connection(redis_url) as connection:
        channel = connection.channel()
        with channel.conn_or_acquire() as one, channel.conn_or_acquire() as other:
            assert one is not other


# -- patches/celery_events.py ------------------------------------------------------------------


def test_celery_publishes_each_task_sent_by_itself():
    app = Celery("plain", broker="memory://", set_as_current=False)
    app.conf.update(task_send_sent_event=True, task_ignore_result=True)
    events = Queue("plain-events", Exchange("celeryev", type="topic"), routing_key="#")
    with app.connection_for_write() as connection, connection.SimpleQueue(events) as received:
        for _ in range(3):
            app.send_task("plain.task", queue="plain-tasks")
        messages = [received.get(timeout=patient(5)).payload for _ in range(3)]
    assert [it["type"] for it in messages] == ["task-sent"] * 3


# -- patches/repeated_messages.py ----------------------------------------------------------------


def test_celery_takes_two_round_trips_for_a_message(redis_url, monkeypatch):
    app = Celery("plain", broker=redis_url, set_as_current=False)
    app.conf.update(task_send_sent_event=True, task_ignore_result=True)
    app.send_task("plain.task", queue="plain-repeated")  # declares the queue
    sent, send = [], AbstractConnection.send_packed_command
    monkeypatch.setattr(
        AbstractConnection,
        "send_packed_command",
        lambda *args, **how: (sent.append(args), send(*args, **how)),
    )
    app.send_task("plain.task", queue="plain-repeated")
    assert len(sent) == 2
    with app.connection_for_write() as connection:
        connection.default_channel.queue_delete("plain-repeated")
    app.close()


# -- patches/celery_consumer.py ------------------------------------------------------------------


def test_celery_cannot_terminate_a_thread():
    """celery/celery#10490."""
    pool = TaskPool(1)
    with pytest.raises(NotImplementedError):
        pool.terminate_job(1)
    pool.on_stop()


# -- patches/celery_consumer.py, patches/broker_messages.py -------------------------------------

PLAIN_APP = """
from celery import Celery

app = Celery("plain", broker={url!r})
app.conf.task_default_queue = "plain-worker"
"""
TWO_PARTS = """{
    "body": "[[], {}]", "content-encoding": "utf-8", "content-type": "application/json",
    "headers": {"lang": "py", "task": "celery.accumulate", "id": "1", "root_id": "1"},
    "properties": {"delivery_info": {"exchange": "", "routing_key": "plain-worker"}, "delivery_tag": "1"}
}"""


@pytest.fixture
def plain_worker(redis_url: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A worker of Celery without a patch."""
    (tmp_path / "plain_app.py").write_text(PLAIN_APP.format(url=redis_url))
    command = [sys.executable, "-m", "celery", "-A", "plain_app", "worker", "--pool=solo", "--without-gossip"]
    with (tmp_path / "log").open("w") as log:
        worker = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log, text=True)
    yield worker
    worker.kill()
    worker.wait()


@pytest.mark.long
@pytest.mark.parametrize("message", ["no JSON", TWO_PARTS], ids=["envelope", "body"])
def test_celery_worker_ends_on_a_malformed_message(redis_url, tmp_path, plain_worker, message):
    """celery/celery#7975, celery/celery#4308."""
    with Redis.from_url(redis_url) as client:
        client.lpush("plain-worker", message)
        until(lambda: plain_worker.poll() is not None, timeout_s=40, what="the worker ends")
        client.delete("plain-worker", "_kombu.binding.plain-worker", "unacked", "unacked_index")
    assert "Unrecoverable error" in (tmp_path / "log").read_text()


@pytest.mark.long
def test_celery_worker_ends_on_a_malformed_broadcast(redis_url, tmp_path, plain_worker):
    with Redis.from_url(redis_url) as client:
        until(lambda: client.publish("/0.celery.pidbox", "[]") or plain_worker.poll() is not None)
        until(lambda: plain_worker.poll() is not None, timeout_s=40, what="the worker ends")
        client.delete("_kombu.binding.plain-worker")
    assert "Unrecoverable error" in (tmp_path / "log").read_text()


READ_HEADERS = """
import struct
from amqp import method_framing
{patch}
table = b""
for _ in range(5_000):
    table = b"\\x01aF" + struct.pack(">I", len(table)) + table
message = method_framing.Message()
message._load_properties(60, struct.pack(">HI", 1 << 13, len(table)) + table, 0)
print(message.properties)
"""
SAFELY = "from symposia.patches.broker_messages import read_headers_safely; read_headers_safely()"


def test_py_amqp_cannot_read_deep_headers():
    assert "RecursionError" in run(READ_HEADERS.format(patch="")).stderr
    assert run(READ_HEADERS.format(patch=SAFELY)).stdout == "{}\n"


DECOMPRESS = """
import zlib
from kombu.compression import decompress
print(len(decompress(zlib.compress(bytes(50_000_000)), "application/x-gzip")))
"""


def test_kombu_decompresses_without_a_limit():
    assert run(DECOMPRESS).stdout.strip() == "50000000"


# -- patches/celery_tracebacks.py --------------------------------------------------------------------

IGNORED = """
import pickle
from celery import Celery
from celery.app.trace import build_tracer
from celery.exceptions import Ignore
{patch}
app = Celery("plain", broker="memory://", set_as_current=False)

@app.task(name="ignored", ignore_result=True)
def ignored():
    raise Ignore("parked")

answer = build_tracer("ignored", ignored, app=app)("1", (), {{}})
info = pickle.loads(pickle.dumps(answer.retval))
print(answer.info.state, type(info.exception).__name__, len(info.traceback.splitlines()))
"""
OMIT = "from symposia.patches.celery_tracebacks import omit_ignored_tracebacks; omit_ignored_tracebacks()"


@pytest.mark.parametrize(("patch", "is_copied"), [("", True), (OMIT, False)], ids=["celery", "patched"])
def test_celery_copies_the_traceback_of_ignored_tasks(patch, is_copied):
    state, exception, lines = run(IGNORED.format(patch=patch)).stdout.split()
    assert (state, exception, int(lines) > 0) == ("IGNORED", "Ignore", is_copied)


# -- patches/control_messages.py ---------------------------------------------------------------------


@pytest.mark.parametrize("body", [7, [], {}, {"method": "ping", "pattern": "(a+)+$", "matcher": "pcre"}])
def test_celery_trusts_control_messages(body):
    mailbox = {it: it("celery", type="fanout") for it in (Mailbox, CheckedMailbox)}
    plain, checked = (it.Node("w1@here", handlers={"ping": lambda _: "pong"}) for it in mailbox.values())
    assert checked.handle_message(body) is None
    if isinstance(body, dict) and body:
        assert plain.handle_message({**body, "pattern": "w1.*"}) == "pong"
    else:
        with pytest.raises((AttributeError, TypeError)):
            plain.handle_message(body)


def test_celery_adopts_any_clock():
    plain, bounded = LamportClock(), BoundedClock()
    for clock in (plain, bounded):
        clock.adjust(int("9" * 4300))
    with pytest.raises(ValueError, match="4300 digits"):
        json.dumps(plain.value)
    assert json.dumps(bounded.value) == "1"
    with pytest.raises(TypeError):
        plain.adjust("x")
    assert bounded.adjust("x") == 2
