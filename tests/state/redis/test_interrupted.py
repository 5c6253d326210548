"""A command that Ctrl-C (or a soft time limit) comes into, wherever it comes."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from types import FrameType
from typing import Any

import pytest
from redis.cluster import RedisCluster

from symposia.state.redis.connect import connect

#: Packs a long command with a number behind it, over and over, each time with a signal a little later.
PACKING = """
import signal, sys
from {module} import {maker}

class Interrupted(Exception):
    pass

def interrupt(*_):
    raise Interrupted

signal.signal(signal.SIGALRM, interrupt)
connection = {connection}
long = b"x" * 16_000_000
for attempt in range(1, 31):
    try:
        signal.setitimer(signal.ITIMER_REAL, attempt / 4000)
        connection.pack_command(b"SET", long, 7, 0.5)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Interrupted:
        pass
"""

CONNECTIONS = {
    "state": (
        "symposia.state.redis.connect",
        "connect",
        "connect(sys.argv[1]).connection_pool.get_connection()",
    ),
    "messages": (
        "symposia.patches.kombu_transport",
        "OneClientConnection",
        "OneClientConnection(sys.argv[1]).default_channel.client.connection_pool.get_connection()",
    ),
}


@pytest.fixture(autouse=True)
def _finalize_in_this_thread() -> Iterator[None]:
    """Finalize the clients of a test: an interrupt may leave a lock of redis-py with this thread.

    The finalizer of a cluster client takes that lock. In any other thread, such as that of an event loop which happens
    to collect garbage, it would wait forever.
    """
    yield
    gc.collect()


@pytest.mark.parametrize("whose", CONNECTIONS)
@pytest.mark.long
def test_signal_while_packing_is_an_exception(redis_url, whose):
    module, maker, connection = CONNECTIONS[whose]
    program = PACKING.format(module=module, maker=maker, connection=connection)
    done = subprocess.run(
        [sys.executable, "-c", program, redis_url], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


class _Interrupt(BaseException):
    """As KeyboardInterrupt."""


def _interrupted(call: Callable[[], Any], line: int) -> bool:
    """Whether `call` runs so many lines. It is interrupted before that one."""
    left = line

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal left
        if event == "line":
            left -= 1
            if left == 0:
                raise _Interrupt
        return trace

    before = sys.gettrace()
    gc.disable()  # nobody hears what is raised in a finalizer
    sys.settrace(trace)
    try:
        call()
    except _Interrupt:
        return True
    finally:
        sys.settrace(before)
        gc.enable()
    return left <= 0


def check_interrupted_script(url):
    with connect(url) as client:
        echo = client.script_load("return ARGV[1]")
        for line in count(1):
            reached = _interrupted(lambda: client.evalsha(echo, 0, "first"), line)
            assert client.evalsha(echo, 0, f"after {line}") == f"after {line}"
            if not reached:
                break
    assert line > 20, "it has that many lines at least"


def test_script_after_an_interrupt_gets_its_answer(redis_url):
    check_interrupted_script(redis_url)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_a_script_after_an_interrupt_on_a_cluster(cluster):
    check_interrupted_script(cluster.url)  # sockets may be left to the garbage collector


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_redis_py_mixes_up_answers_after_an_interrupt(cluster):
    """When this fails, `patches/redis_connections.py` can be removed."""
    host, _, port = cluster.nodes[0].address.rpartition(":")
    with RedisCluster(host=host, port=int(port), decode_responses=True) as client:
        for line in count(1):
            reached = _interrupted(lambda: client.eval("return ARGV[1]", 1, "key", "first"), line)
            answer = client.eval("return ARGV[1]", 1, "key", "second")
            if not reached or answer != "second":
                break
    assert answer == "first"


@pytest.mark.long
def test_script_after_an_interrupt_with_sentinels(sentinels):
    check_interrupted_script(sentinels.url)
