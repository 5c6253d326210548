"""A question asked during a Redis outage is parked when Redis is back, and asked once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.machinery.spawning import from_the_staying_thread
from live import until
from servers.killing import kill_server
from servers.ports import own_port
from sessions.inline_installation import InlineInstallation
from symposia.client.embedded import EmbeddedServer
from symposia.tasks.runtime.runtime import Boundary


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path / "server", port=own_port(), bound=True) as server:
        yield server


@pytest.fixture
def installation(tmp_path: Path, server: EmbeddedServer) -> Iterator[InlineInstallation]:
    installation = InlineInstallation(tmp_path, server.url, lease_s=60)
    yield installation
    installation.close()


def test_turn_is_parked_once_redis_is_back(
    installation: InlineInstallation, server: EmbeddedServer, caplog: pytest.LogCaptureFixture
) -> None:
    def lose_it(boundary: Boundary, _session_id: str, _number: int) -> None:
        if boundary is Boundary.SPEAKING:
            kill_server(server)

    def bring_it_back() -> None:
        until(lambda: "failed, retrying: " in caplog.text, what="the question waits")
        from_the_staying_thread(server.start)

    job = installation.submit("pair", {}, people=["zoe", "yan"])
    assert installation.deliver() == "advanced"
    installation.runtime = replace(installation.runtime, fault_hook=lose_it)
    helper = threading.Thread(target=bring_it_back)
    helper.start()
    assert installation.deliver() == "parked"
    helper.join()

    assert f"writing question of turn 1 of {job.id} failed, retrying" in caplog.text
    assert [(it.participant, it.turn_number) for it in job.pending()] == [("zoe", 1)]
    assert [it.session_id for it in installation.client.inbox("zoe")] == [job.id]
    assert job.state().records[1].grants == 1, "nobody was asked again"
