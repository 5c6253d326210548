"""Registered agents as task-managers: they approve, or the task is rejected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.task_room import ANN, BEN
from symposia.agents.execution.runner import AgentRunner
from symposia.agents.registry.registry import Registry
from symposia.archive.archive import Archive
from symposia.models.errors import InvalidInput, TaskRejectedError
from symposia.workspace.service import WorkspaceService
from symposia.workspace.task_managers import AgentVerdicts, TaskManagers
from symposia.workspace.values.task import TaskStatus

AGENTS = """
[agents.kind]
kind = "scripted"
replies = ["APPROVED: {purpose}"]

[agents.strict]
kind = "scripted"
replies = [{ decision = { satisfied = false, reason = "no room" } }]

[agents.wordy]
kind = "scripted"
replies = ["I would rather not."]

[agents.silent]
kind = "scripted"
replies = [{ pass = true }]

[agents.broken]
kind = "scripted"
replies = [{ fail = "out of order" }]

[agents.late]
kind = "scripted"
replies = [{ say = "APPROVED", delay_s = 40 }]

[agents.missing]
kind = "python"
callable = "no_such_module:decide"
"""


@pytest.fixture
def workspace(archive: Archive, tmp_path: Path) -> Iterator[WorkspaceService]:
    (tmp_path / "agents.toml").write_text(AGENTS)
    runner = AgentRunner()
    judge = AgentVerdicts(Registry.load(tmp_path / "agents.toml"), runner)
    managers = TaskManagers()
    managers.register("in a hurry", "late", timeout_s=0.05)
    managers.register("doors", "kind", agent="porter")
    yield WorkspaceService(archive, agents=lambda: judge, managers=managers)
    runner.close()


def test_agent_with_the_app_name_manages_its_tasks(workspace: WorkspaceService) -> None:
    made = workspace.request_task("kind", ANN, [BEN], {})
    assert (made.task.status, made.task.task_manager) == (TaskStatus.ACTIVE, "kind")
    assert workspace.task_close("kind", made.task.id).status is TaskStatus.CLOSED


def test_task_manager_may_have_a_configured_id(workspace: WorkspaceService) -> None:
    made = workspace.request_task("doors", ANN)
    assert (made.task.app, made.task.task_manager) == ("doors", "porter")


@pytest.mark.parametrize(
    ("app", "reason"),
    [
        ("strict", "no room"),
        ("wordy", "I would rather not."),
        ("silent", "the task-manager did not approve"),
        ("broken", "the task-manager failed: out of order"),
        ("in a hurry", "the task-manager failed: no answer within 0.05 s"),
        ("human", "the task-manager did not approve"),
        ("missing", "the task-manager failed"),
    ],
)
def test_agent_without_approval_rejects(workspace: WorkspaceService, app: str, reason: str) -> None:
    with pytest.raises(TaskRejectedError) as caught:
        workspace.request_task(app, ANN)
    assert caught.value.reason.startswith(reason)
    assert workspace.task_list(ANN).items[0].status is TaskStatus.FAILED


def test_app_without_a_task_manager_is_refused(workspace: WorkspaceService) -> None:
    with pytest.raises(InvalidInput, match="app: must have a valid task-manager: must be a registered agent"):
        workspace.request_task("kin", ANN)
    assert workspace.task_list(ANN).items == ()
