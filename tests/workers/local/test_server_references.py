"""The embedded server lives as long as anyone uses it, and no longer."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from live import until
from servers.ports import keep_port
from symposia.factories.connection import Health, ServerRecord, check_health, find_embedded_server
from symposia.models.errors import EmbeddedServerError
from symposia.state.redis.connect import connect
from symposia.workers.local.embedded import EmbeddedServer
from symposia.workers.local.local_runtime import shared_server, using_server


def test_it_outlives_whoever_started_it_and_ends_with_the_last_who_uses_it(tmp_path: Path) -> None:
    first, second = shared_server(tmp_path), shared_server(tmp_path)
    url = first.__enter__()
    assert second.__enter__() == url
    first.__exit__(None, None, None)
    assert check_health(url) is Health.READY
    second.__exit__(None, None, None)
    assert check_health(url) is Health.SILENT


def test_what_was_written_is_there_for_the_next(tmp_path: Path) -> None:
    keep_port(tmp_path)
    with shared_server(tmp_path) as url, connect(url) as client:
        client.set("symposia:x", "1")
    with shared_server(tmp_path) as again, connect(again) as client:
        assert (again, client.get("symposia:x")) == (url, "1")


def test_whoever_keeps_a_server_up_is_not_deprived_of_it(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, bound=True) as kept:
        with shared_server(tmp_path) as url:
            assert url == kept.url
        assert check_health(kept.url) is Health.READY


def test_a_shared_server_that_somebody_uses_without_having_started_it_stays(tmp_path: Path) -> None:
    with using_server(tmp_path):
        with shared_server(tmp_path) as url:
            pass
        assert check_health(url) is Health.READY
    assert find_embedded_server(tmp_path) is None


def test_a_server_that_was_killed_is_no_reason_to_fail_when_leaving(tmp_path: Path) -> None:
    with shared_server(tmp_path) as url:
        record = ServerRecord.read(tmp_path)
        assert record is not None
        os.kill(record.pid, signal.SIGKILL)
        until(lambda: check_health(url) is Health.SILENT)


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "valkey").write_text("a file")
    with pytest.raises(EmbeddedServerError, match="valkey cannot be used"), shared_server(tmp_path):
        pass
