"""`symposia callbacks` as a process: it listens, answers, and ends on Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import subprocess

import psutil
import pytest

from live import until
from servers.ports import own_port
from servers.remote_system import post


@pytest.mark.long
def test_callbacks_server_listens_until_ctrl_c(terminal):
    port = own_port()
    running = terminal.start("callbacks", "--port", str(port)).until("press Ctrl-C to stop")
    url = f"http://127.0.0.1:{port}/replies"
    until(lambda: _answers(url), what="it answers")
    assert post(url, {"text": "hello"})[0] == 400
    assert running.interrupt().ended().code == 0


@pytest.mark.long
def test_callbacks_server_ends_at_sigterm(terminal):
    port = own_port()
    running = terminal.start("callbacks", "--port", str(port)).until("press Ctrl-C to stop")
    until(lambda: _answers(f"http://127.0.0.1:{port}/replies"), what="it answers")
    running.process.terminate()
    assert running.ended().code == 0


@pytest.mark.long
def test_port_in_use_is_reported_in_one_line(terminal):
    port = own_port()
    terminal.start("callbacks", "--port", str(port)).until("press Ctrl-C to stop")
    until(lambda: _answers(f"http://127.0.0.1:{port}/replies"), what="the first one answers")
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
    until(lambda: _answers(f"http://127.0.0.1:{port}/replies"), what="it answers")
    (server,) = psutil.Process(running.process.pid).children()
    server.send_signal(signal.SIGTERM)
    assert running.ended().code == 0


def _answers(url):
    try:
        return post(url, {})[0] == 400
    except OSError:
        return False
