"""`symposia callbacks` as a process: it listens, answers, and ends on Ctrl-C."""

from __future__ import annotations

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


def _answers(url):
    try:
        return post(url, {})[0] == 400
    except OSError:
        return False
