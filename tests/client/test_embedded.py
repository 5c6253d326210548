"""The embedded server: one on each data folder, found by every process, gone when it should be."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from live import until
from processes.gone import is_gone
from servers.ports import own_port
from symposia.client.building.connection import (
    Health,
    ServerRecord,
    check_health,
    find_embedded_server,
    resolve_redis_url,
)
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings
from symposia.models.errors import EmbeddedServerError, PortTaken, RedisUnavailable
from symposia.state.redis.connect import connect


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path, port=own_port(), bound=True) as server:
        yield server


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2].removesuffix("/0"))


def test_server_is_found_by_the_data_folder(server: EmbeddedServer, tmp_path: Path) -> None:
    script = "import sys, pathlib; from symposia.client.building.connection import find_embedded_server; print(find_embedded_server(pathlib.Path(sys.argv[1])))"
    found = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == server.url


def test_data_survives_a_restart(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, bound=True) as first, connect(first.url) as client:
        client.set("kept", "yes")
    with EmbeddedServer(tmp_path, bound=True) as second, connect(second.url) as client:
        assert client.get("kept") == "yes"


def test_restart_keeps_the_url(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, port=own_port(), bound=True) as first:
        url = first.url
    with EmbeddedServer(tmp_path, bound=True) as second:
        assert second.url == url


def test_killed_server_is_started_again(server: EmbeddedServer) -> None:
    url, pid = server.url, server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: check_health(url) is Health.SILENT)
    assert server.start() == url
    assert server.pid != pid


def test_server_persists_within_a_second(server: EmbeddedServer) -> None:
    with connect(server.url) as client:
        asked = ("maxmemory-policy", "appendonly", "appendfsync", "save")
        told = {name: client.config_get(name)[name] for name in asked}
    assert told == {
        "maxmemory-policy": "noeviction",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
    }


def test_concurrent_starters_share_one_server(tmp_path: Path) -> None:
    servers = [EmbeddedServer(tmp_path) for _ in range(6)]
    try:
        with ThreadPoolExecutor(len(servers)) as starters:
            urls = set(starters.map(EmbeddedServer.start, servers))
        assert len(urls) == 1
        assert sum(server.pid is not None for server in servers) == 1
    finally:
        for server in servers:
            server.stop()


def test_finder_does_not_stop_the_server(server: EmbeddedServer, tmp_path: Path) -> None:
    guest = EmbeddedServer(tmp_path)
    assert guest.start() == server.url
    guest.stop()
    assert check_health(server.url) is Health.READY


def test_server_listens_on_loopback_with_a_password(server: EmbeddedServer) -> None:
    assert server.pid is not None
    listening = [c for c in psutil.Process(server.pid).net_connections() if c.status == psutil.CONN_LISTEN]
    assert {connection.laddr.ip for connection in listening} == {"127.0.0.1"}
    with (
        connect(f"redis://127.0.0.1:{port_of(server.url)}/0", retries=0) as stranger,
        pytest.raises(RedisUnavailable, match="Authentication"),
    ):
        stranger.ping()


def test_password_file_is_private(server: EmbeddedServer, tmp_path: Path) -> None:
    folder = tmp_path / "valkey"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    readable = {path.name for path in folder.iterdir() if path.is_file() and path.stat().st_mode & 0o077}
    assert readable == set()
    password = (folder / "password").read_text()
    assert server.pid is not None
    assert not any(password in argument for argument in psutil.Process(server.pid).cmdline())


@pytest.mark.long
def test_taken_port_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"^port {port} is already in use on 127.0.0.1"):
            EmbeddedServer(tmp_path, port=port).start()


@pytest.mark.long
def test_port_used_since_the_last_run_is_replaced(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, port=own_port(), bound=True) as first:
        port = port_of(first.url)
    with socket.create_server(("127.0.0.1", port)), EmbeddedServer(tmp_path, bound=True) as second:
        assert port_of(second.url) != port


def test_server_that_stops_at_once_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "broken"
    program.write_text("#!/bin/sh\necho cannot allocate memory\nexit 1\n")
    program.chmod(0o700)
    with pytest.raises(EmbeddedServerError, match="cannot allocate memory"):
        EmbeddedServer(tmp_path, program=program).start()
    assert find_embedded_server(tmp_path) is None


def test_a_missing_server_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="/no/such/server"):
        EmbeddedServer(tmp_path, program=Path("/no/such/server")).start()


def test_unresponsive_server_is_not_started_twice(server: EmbeddedServer, tmp_path: Path) -> None:
    (tmp_path / "valkey" / "server.json").unlink()
    with pytest.raises(EmbeddedServerError, match=r"is using .* but does not answer"):
        EmbeddedServer(tmp_path).start(timeout_s=0.2)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"url": "redis://127.0.0.1:1/0"}'])
def test_unreadable_record_counts_as_missing(tmp_path: Path, content: str) -> None:
    (tmp_path / "valkey").mkdir()
    (tmp_path / "valkey" / "server.json").write_text(content)
    assert ServerRecord.read(tmp_path) is None
    assert find_embedded_server(tmp_path) is None


def test_url_before_the_start_raises(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="has not been started"):
        _ = EmbeddedServer(tmp_path).url


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_server_ends_with_a_killed_parent(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib, time; from symposia.client.embedded import EmbeddedServer;"
        "server = EmbeddedServer(pathlib.Path(sys.argv[1]), bound=True); server.start();"
        "print(server.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        server = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    until(lambda: is_gone(server), what="the server dies with its parent")


def test_terminal_ctrl_c_does_not_reach_the_server(server: EmbeddedServer) -> None:
    assert server.pid is not None
    assert os.getpgid(server.pid) != os.getpgid(0)


def test_configured_url_overrides_the_embedded_server(server: EmbeddedServer, tmp_path: Path) -> None:
    assert resolve_redis_url(load_settings(data_dir=tmp_path)) == server.url
    configured = load_settings(data_dir=tmp_path, redis_url="redis://db:6379/0")
    assert resolve_redis_url(configured) == "redis://db:6379/0"


def test_no_url_and_no_server_resolve_to_none(tmp_path: Path) -> None:
    assert resolve_redis_url(load_settings(data_dir=tmp_path)) is None


@pytest.mark.skipif(
    shutil.which("redis-server") is None, reason="redis-server is not installed: make debian-packages"
)
def test_redis_may_replace_valkey(tmp_path: Path) -> None:
    with (
        EmbeddedServer(tmp_path, program=Path("redis-server"), bound=True) as server,
        connect(server.url) as client,
    ):
        assert "valkey_version" not in client.info("server")
        assert client.config_get("appendonly") == {"appendonly": "yes"}
