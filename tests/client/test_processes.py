"""Child processes are ended for certain, and ports are free."""

import signal
import socket
import subprocess

import pytest

from scaling import patient
from servers.ports import own_port
from symposia.client.processes import end_process, free_port


def test_listening_process_is_asked_to_stop() -> None:
    process = subprocess.Popen(["sleep", "60"])
    end_process(process, timeout_s=patient(5))
    assert process.returncode == -signal.SIGTERM


def test_process_that_ignores_the_request_is_killed() -> None:
    process = subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process.stdout as said:
        said.readline()
        end_process(process, timeout_s=0.1)
    assert process.returncode == -signal.SIGKILL


def test_preferred_port_is_used_if_free() -> None:
    taken = own_port()
    with socket.create_server(("127.0.0.1", taken)):
        assert free_port("127.0.0.1", preferred=taken) != taken
    assert free_port("127.0.0.1", preferred=taken) == taken


def test_foreign_host_has_no_port() -> None:
    with pytest.raises(OSError, match="no free port"):
        free_port("192.0.2.1")
