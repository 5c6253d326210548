"""Metrics that a worker serves over HTTP."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import URLError

import psutil
import pytest

from live import SUPPORT, result_of, until
from monitoring.scraping import Scrape, scrape_http
from scaling import patient
from servers.ports import own_port
from symposia.client.embedded import EmbeddedServer
from symposia.client.processes import end_with_parent
from symposia.models.sessions.stop_conditions import MaxTurns

#: They start servers of their own.
pytestmark = pytest.mark.long


def environment(installation) -> dict[str, str]:
    settings = {f"SYMPOSIA_{name.upper()}": str(value) for name, value in installation.settings.items()}
    return {**os.environ, **settings, "PYTHONPATH": str(SUPPORT)}


@contextmanager
def worker(installation, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """`symposia worker` with these options."""
    command = [sys.executable, "-m", "symposia", "worker", "--processes", "1", *options]
    with (installation.folder / "worker.log").open("ab") as log:
        process = subprocess.Popen(
            end_with_parent(command, signal.SIGKILL),
            env=environment(installation),
            cwd=installation.folder,
            stdout=log,
            stderr=log,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait(patient(10))


def scraped(port: int, condition) -> Scrape:
    def look() -> Scrape | None:
        try:
            scrape = scrape_http(port)
        except (URLError, ConnectionError):
            return None
        return scrape if condition(scrape) else None

    return until(look, what=f"the metrics at port {port}")


def test_a_worker_serves_metrics_on_loopback_only(installation):
    port = own_port()
    with worker(installation, "--metrics-port", str(port)) as process:
        scraped(port, lambda it: it.total("symposia_workers") == 1)
        result_of(installation.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxTurns(2)))
        scrape = scraped(port, lambda it: it.total("symposia_turns_total", outcome="message") == 2)
        assert scrape.total("symposia_metrics_age_seconds") < patient(20)
        listening = [
            it.laddr for it in psutil.Process(process.pid).net_connections() if it.status == "LISTEN"
        ]
        assert [tuple(it) for it in listening] == [("127.0.0.1", port)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(patient(30)) == 0


def test_a_port_in_use_ends_the_worker_with_one_line(installation):
    with EmbeddedServer(installation.folder / "other", durable=False, bound=True, port=own_port()) as other:
        port = other.url.rpartition(":")[2].partition("/")[0]
        with worker(installation, "--metrics-port", port) as process:
            assert process.wait(patient(40)) == 2
    log = (installation.folder / "worker.log").read_text()
    assert f"metrics port: cannot be used on 127.0.0.1: Address already in use (got {port})" in log
    assert "Traceback" not in log


def test_scrape_is_answered_during_a_redis_outage(installation, tmp_path):
    port = own_port()
    with EmbeddedServer(tmp_path / "server", durable=False, bound=True) as server:
        installation.redis_url = server.url
        with worker(installation, "--metrics-port", str(port)):
            scraped(port, lambda it: it.total("symposia_workers") == 1)
            result_of(installation.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxTurns(2)))
            scraped(port, lambda it: it.total("symposia_turns_total") == 2)
            server.stop()
            scrape = scraped(port, lambda it: it.total("symposia_metrics_age_seconds") > 6)
            assert scrape.total("symposia_turns_total") == 2
