"""Events of parked turns, which no session depends on."""

from __future__ import annotations

from servers.ports import own_port
from symposia.client.building.app import create_app
from symposia.config.settings import load_settings
from symposia.state.sessions.turn_records import TaskInfo
from symposia.tasks.runtime.graph import TaskGraph


def test_event_is_dropped_during_a_broker_outage(redis_url: str) -> None:
    app = create_app(
        load_settings(redis_url=redis_url, broker_url=f"amqp://guest:guest@127.0.0.1:{own_port()}//")
    )
    TaskGraph(lambda: app).report(TaskInfo("1", "w1@live"), "task-succeeded", result="'answered by ann'")
