"""`symposia callbacks` as a process: it listens, answers, and ends on Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import subprocess

import psutil
import pytest

from live import until
from servers.ports import own_port
from servers.remote_system import post


@pytest.fixture
def server(terminal):
    """The running command, and its port."""
    port = own_port()
    running = terminal.start("callbacks", "--port", str(port)).until("press Ctrl-C to stop")
    until(lambda: _answers(port), what="it answers")
    return running, port


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_callbacks_server_listens_until_a_signal(server, number):
    running, port = server
    assert post(_url(port), {"text": "hello"})[0] == 400
    running.process.send_signal(number)
    assert running.ended().code == 0


@pytest.mark.long
def test_port_in_use_is_reported_in_one_line(terminal, server):
    _, port = server
    said = terminal.run("callbacks", "--port", str(port))
    assert said.code == 2
    assert f"port: cannot be used on 127.0.0.1: Address already in use (got {port})" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.long
def test_sigterm_ends_the_server_in_a_container(terminal):
    """As process 1 of its namespace, where a signal without a handler has no effect."""
    namespace = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
    if subprocess.run([*namespace, "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs namespaces of users and processes")
    port = own_port()
    running = terminal.start("callbacks", "--port", str(port), inside=namespace)
    until(lambda: _answers(port), what="it answers")
    (server,) = psutil.Process(running.process.pid).children()
    server.send_signal(signal.SIGTERM)
    assert running.ended().code == 0


def _url(port):
    return f"http://127.0.0.1:{port}/replies"


def _answers(port):
    try:
        return post(_url(port), {})[0] == 400
    except OSError:
        return False
