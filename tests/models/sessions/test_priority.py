"""Priority of a session: its stored form, and the warning where it has no effect."""

from __future__ import annotations

import pytest

from symposia.models.sessions.known_agents import KnownAgents
from symposia.models.sessions.priority import Priority
from symposia.models.sessions.spec import SessionSpec
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.state.presence import WorkerEntry, WorkerRoute
from symposia.state.worker_routes import warn_of_ignored_priority


@pytest.mark.parametrize("priority", Priority)
def test_only_another_priority_than_normal_is_stored(priority: Priority):
    spec = SessionSpec(stop=MaxTurns(1), priority=priority)
    assert ("priority" in spec.model_dump(mode="json")) == (priority is not Priority.NORMAL)
    assert SessionSpec.model_validate_json(spec.model_dump_json()).priority is priority


@pytest.mark.parametrize(
    ("lanes", "priority", "is_warned"),
    [
        ([16, 0], Priority.HIGH, True),
        ([16, 0], Priority.NORMAL, False),
        ([16], Priority.LOW, False),
        ([], Priority.LOW, False),
    ],
)
def test_priority_without_effect_has_one_warning(caplog, lanes, priority, is_warned):
    workers = [
        WorkerEntry(f"w{count}", KnownAgents([]), 0, route=WorkerRoute(lanes=count)) for count in lanes
    ]
    warn_of_ignored_priority(workers, [priority, priority], what="session s")
    lines = ["session s: priority high has no effect, because worker w0 consumes no lanes"] * is_warned
    assert [line.split(": its broker")[0] for line in caplog.messages] == lines
