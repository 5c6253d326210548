"""The heartbeat process of a worker: what it reports, over which connections, and when it ends."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from live import until
from scaling import patient
from servers.tls import HOST, certificate, tls_front
from symposia.models.errors import RedisUnavailable
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import worker_lease_key
from symposia.state.worker_leases import lease_keys
from symposia.workers.heartbeat.connection import HeartbeatConnection, HeartbeatProcess
from symposia.workers.heartbeat.steps import describe_server

#: The thread of a connection runs as long as its process; here it ends with SystemExit.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")

PROCESS, CHILD = "w@host/1-a", "w@host/2-b"


class Beating:
    """A heartbeat process, to which this process is connected as if it was a worker."""

    def __init__(self, describe) -> None:
        self.process = HeartbeatProcess()
        self.connection = HeartbeatConnection(
            self.process.address,
            PROCESS,
            ensure_running=self.process.ensure_running,
            describe_server=describe,
        )

    def started(self) -> subprocess.Popen[bytes]:
        """The heartbeat process."""
        return until(lambda: self.process._process, what="it is started")

    def end(self) -> None:
        """Close the connection for good, as the kernel does when the worker ends."""
        if self.process._process is not None:
            self.connection._ensure_running = sys.exit  # of its thread
            self.connection._disconnect()
            self.process._process.wait(patient(40))
            self.process._listener.close()
            self.process._process = None


@pytest.fixture
def beat():
    begun = []

    def begin(describe):
        begun.append(Beating(describe))
        return begun[-1]

    yield begin
    for it in begun:
        it.end()


def lease_of(client) -> float | None:
    return client.zscore(worker_lease_key("leases"), PROCESS)


def sessions(client) -> set[str]:
    return client.smembers(lease_keys(PROCESS)[1])


def test_sessions_are_reported_while_the_process_works_on_them(redis_url, beat):
    with connect(redis_url) as client:
        beating = beat(lambda: describe_server(client))
        with beating.connection.hold("s1"), beating.connection.hold("s2"):
            until(lambda: sessions(client) == {"s1", "s2"}, what="both are known")
            with beating.connection.hold("s1"):
                pass
        with beating.connection.hold("s3"):
            until(lambda: sessions(client) == {"s3"}, what="the others have ended")
            first = lease_of(client)
            until(lambda: lease_of(client) > first, what="the lease is renewed")
            beating.end()
            assert (lease_of(client), sessions(client)) == (0, {"s3"})


def test_sessions_of_a_cancelled_process_stay_reported(redis_url, beat):
    with connect(redis_url) as client:
        beating = beat(lambda: describe_server(client))
        with beating.connection.hold("s1"):
            until(lambda: sessions(client), what="it is known")
            beating.connection.keep_all()
        beating.connection.report_all_ended()
        beating.end()
        assert (lease_of(client), sessions(client)) == (0, {"s1"})


def test_heartbeat_process_that_dies_at_once_is_replaced(redis_url, beat, tmp_path, monkeypatch):
    (tmp_path / "program.py").touch()
    with connect(redis_url) as client:
        with monkeypatch.context() as dying:
            dying.setattr("symposia.workers.heartbeat.connection._PROGRAM", str(tmp_path / "program.py"))
            beating = beat(lambda: describe_server(client))
            assert beating.started().wait(patient(10)) == 0, "it has accepted no connection"
        until(lambda: lease_of(client), what="the next one reports")


def test_socket_stays_while_the_main_process_runs(redis_url, beat, monkeypatch):
    with connect(redis_url) as client:
        beating = beat(lambda: describe_server(client))
        first = beating.started()
        until(lambda: lease_of(client), what="it reports")
        with monkeypatch.context() as alone:
            alone.setattr(beating.connection, "_ensure_running", lambda: 1 / 0)
            beating.connection._disconnect()
            first.wait(patient(40))
        assert beating.process.folder.exists()
        with beating.connection.hold("s1"):
            until(lambda: sessions(client) == {"s1"}, what="the next one reports")


#: How a main process ends: refused before it has started a heartbeat process; killed.
ENDS = {
    "refused": "",
    "killed": "heartbeat.ensure_running(); HeartbeatConnection(heartbeat.address, 'w@host/1-a'); os.kill(os.getpid(), 9)",
}


@pytest.mark.parametrize("end", ENDS.values(), ids=list(ENDS))
def test_folder_of_the_socket_is_removed(tmp_path, end):
    module = "symposia.workers.heartbeat.connection"
    code = f"import os; from {module} import HeartbeatConnection, HeartbeatProcess; heartbeat = HeartbeatProcess(); {end}"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    until(lambda: not list(tmp_path.iterdir()), what="the folder is gone")


def test_socket_has_a_short_path_in_a_deep_temporary_folder(tmp_path, monkeypatch):
    deep = tmp_path / ("a" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    heartbeat = HeartbeatProcess()
    heartbeat._listener.close()
    assert heartbeat.folder.parent == Path("/tmp")  # noqa: S108
    heartbeat.folder.joinpath("heartbeat").unlink()
    heartbeat.folder.rmdir()


def send_as_child(beating, *lines: str) -> socket.socket:
    """Send lines as another process of the worker."""
    child = socket.socket(socket.AF_UNIX)
    child.settimeout(patient(10))
    child.connect(str(beating.process.address))
    child.sendall("".join(f"{line}\n" for line in lines).encode())
    return child


def hello(**changed) -> str:
    return json.dumps({"process": CHILD, "keys": lease_keys(CHILD), "held": [], "is_main": False, **changed})


@pytest.mark.parametrize("text", ["", "\n", 'x\n{"server": {}}', "\ud800", "x" * 65])
def test_text_that_is_no_id_is_not_reported(redis_url, beat, text):
    with connect(redis_url) as client:
        beating = beat(lambda: describe_server(client))
        with beating.connection.hold(text), beating.connection.hold("s1"):
            until(lambda: sessions(client) == {"s1"}, what="the other one is known")
        assert beating.process._process.poll() is None


@pytest.mark.parametrize(
    "lines", [["no JSON"], ["{}"], [hello(), '{"server": {}}'], [hello(), ""], [hello(), hello(is_main=True)]]
)
def test_connection_with_a_wrong_line_is_closed(redis_url, beat, lines):
    with connect(redis_url) as client:
        beating = beat(lambda: describe_server(client))
        with send_as_child(beating, *lines) as child, beating.connection.hold("s1"):
            assert child.recv(1) == b""
            until(lambda: sessions(client) == {"s1"}, what="the server is the same")


def test_refused_report_does_not_prevent_the_others(redis_url, beat):
    with connect(redis_url) as client:
        beating = beat(lambda: describe_server(client))
        client.set(wrong := lease_keys(CHILD)[1], "not a set")
        with send_as_child(beating, hello(held=["s2"])) as child:
            until(lambda: child.recv(1) == b"?", what="its report is refused")
            beating.connection._disconnect()  # its next connection comes after that of the child
            with beating.connection.hold("s1"):
                until(lambda: sessions(client) == {"s1"}, what="it is known")
        client.delete(wrong)


def test_lost_state_of_the_server_is_reported_again(redis_url, beat):
    with connect(redis_url) as client:
        beating = beat(lambda: describe_server(client))
        with beating.connection.hold("s1"):
            until(lambda: sessions(client), what="it is known")
            client.flushall()
            until(lambda: sessions(client), what="it is known again")


def test_another_master_is_asked_for(redis_url, beat):
    addresses = []

    def describe():
        addresses.append("asked")
        known = describe_server(client)
        if len(addresses) == 1:
            raise RedisUnavailable(redis_url)
        return {**known, "address": [HOST, 1]} if len(addresses) == 2 else known

    with connect(redis_url) as client:
        beat(describe)
        until(lambda: lease_of(client), what="it has found the server")


def test_tls_and_passwords_are_used(redis_url, beat, tmp_path):
    made, key = certificate(tmp_path, "front")
    with connect(redis_url) as client:
        port = client.connection_pool.connection_kwargs["port"]
        client.acl_setuser(
            "beat", enabled=True, passwords=["+hunter22"], keys=["symposia:*"], commands=["+@all"]
        )
        try:
            with tls_front(port, made, key) as front:
                tls = connect(f"rediss://beat:hunter22@{HOST}:{front}/0?ssl_ca_certs={made}")
                beating = beat(lambda: describe_server(tls))
                until(lambda: lease_of(client), what="it has reported")
                beating.end()
                tls.close()
        finally:
            client.acl_deluser("beat")
