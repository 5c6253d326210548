"""The embedded server lives as long as anyone uses it, and no longer."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from live import until
from servers.ports import keep_port
from symposia.client.building.connection import Health, ServerRecord, check_health, find_embedded_server
from symposia.client.embedded import EmbeddedServer
from symposia.models.errors import EmbeddedServerError
from symposia.state.redis.connect import connect
from symposia.workers.local.local_runtime import shared_server, using_server


def test_server_ends_with_its_last_user(tmp_path: Path) -> None:
    first, second = shared_server(tmp_path), shared_server(tmp_path)
    url = first.__enter__()
    assert second.__enter__() == url
    first.__exit__(None, None, None)
    assert check_health(url) is Health.READY
    second.__exit__(None, None, None)
    assert check_health(url) is Health.SILENT


def test_data_is_kept_for_the_next_user(tmp_path: Path) -> None:
    keep_port(tmp_path)
    with shared_server(tmp_path) as url, connect(url) as client:
        client.set("symposia:x", "1")
    with shared_server(tmp_path) as again, connect(again) as client:
        assert (again, client.get("symposia:x")) == (url, "1")


def test_server_kept_up_is_not_stopped_by_others(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, bound=True) as kept:
        with shared_server(tmp_path) as url:
            assert url == kept.url
        assert check_health(kept.url) is Health.READY


def test_shared_server_stays_for_its_other_users(tmp_path: Path) -> None:
    with using_server(tmp_path):
        with shared_server(tmp_path) as url:
            pass
        assert check_health(url) is Health.READY
    assert find_embedded_server(tmp_path) is None


def test_leaving_a_killed_server_does_not_fail(tmp_path: Path) -> None:
    with shared_server(tmp_path) as url:
        record = ServerRecord.read(tmp_path)
        assert record is not None
        os.kill(record.pid, signal.SIGKILL)
        until(lambda: check_health(url) is Health.SILENT)


def test_unusable_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "valkey").write_text("a file")
    with pytest.raises(EmbeddedServerError, match="valkey cannot be used"), shared_server(tmp_path):
        pass
