"""A log has few lines about an outage of a server, whoever reports it and how often."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kombu.exceptions import OperationalError
from redis.exceptions import ConnectionError as LostConnection

from live import until
from servers.ports import own_port
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings
from symposia.models.errors import RedisUnavailable
from symposia.models.text.redact import without_password
from symposia.workers.outages import OutageFilter

#: Loggers and what they report, as a loop and as Celery's consumer do.
REPORTS: list[tuple[str, Callable[[str], Exception]]] = [
    ("symposia.workers.steps", RedisUnavailable),
    ("celery.worker.consumer.consumer", lambda _url: LostConnection("refused")),
    ("symposia.tasks", lambda _url: OperationalError("refused")),
    ("celery.worker.consumer.consumer", lambda _url: ConnectionRefusedError("refused")),
]


class Lines(logging.Handler):
    """What a log has written."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def handler() -> Iterator[Lines]:
    handler = Lines()
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)


def test_outage_has_a_line_at_its_begin_and_end_and_each_minute(handler: Lines, tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, port=own_port(), durable=False, bound=True) as server:
        url = server.url
    handler.addFilter(OutageFilter(load_settings(redis_url=url), report_every_s=2))
    lines = handler.lines
    for name, error in REPORTS * 3:
        logging.getLogger(name).warning("failed, will retry: %s", error(url))
    until(lambda: "(11 messages left out)" in lines[-1], what="the next line")
    assert lines[0].endswith("retrying, with a line a minute until it answers")
    assert all(f"{without_password(url)} has not answered for " in line for line in lines[1:])
    with server:
        until(lambda: "answers again after" in lines[-1], what="the last line")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("symposia.agents", ConnectionRefusedError("an agent's own server")),
        ("symposia.state", RedisUnavailable("redis://127.0.0.1:1/7")),
        ("celery.app.trace", RedisUnavailable("redis://127.0.0.1:2/0")),
        ("symposia.state", ValueError("no server")),
        ("team.cache", LostConnection("its own Redis")),
    ],
)
def test_other_problems_are_written_each_time(handler: Lines, name: str, error: Exception) -> None:
    handler.addFilter(OutageFilter(load_settings(redis_url="redis://127.0.0.1:2/0")))
    for _ in range(2):
        logging.getLogger(name).warning("failed: %s", error)
    assert handler.lines == [f"failed: {error}"] * 2
