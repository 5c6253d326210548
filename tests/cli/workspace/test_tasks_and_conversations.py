"""Tasks and conversations on the command line, with a worker whose sessions write into them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import LiveWorker, until
from processes.terminal import Said, Terminal
from sessions.task_room import NOTHING
from symposia.archive.archive import Archive
from symposia.cli.common.exit_codes import ExitCode
from symposia.client.embedded import EmbeddedServer
from symposia.models.text.ids import new_id
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect
from symposia.workspace.sql.store import WorkspaceStore, deliver_to_conversation
from symposia.workspace.values.task import TaskRequest

pytestmark = pytest.mark.long

AGENTS = """
[agents.chair]
kind = "scripted"
replies = ["APPROVED: by all means"]

[agents.miser]
kind = "scripted"
replies = ["There is no money."]

[agents.broken]
kind = "scripted"
replies = [{ fail = "out of order" }]

[agents.slow]
kind = "scripted"
replies = [{ say = "APPROVED", delay_s = 0.01 }]
"""
PAIR = """
title: A line above the door
purpose: Write one line that stands above the door.
mode: pair
participants:
  - {participant_id: ann, agent: echo}
  - {participant_id: ben, agent: echo}
stop: {max_rounds: 1}
conversation: CONVERSATION
"""
LATE_MS = 1_000_000


@dataclasses.dataclass
class WorkspaceCommands:
    terminal: Terminal
    folder: Path

    def call(self, *arguments: str) -> Said:
        return self.terminal.call(*arguments)

    def task(self) -> tuple[str, str]:
        """A task of ann and ben, and its conversation."""
        made = self.call(
            *("task", "request", "chair", "--as", "ann", "--invite", "ben"),
            *("--conversation", "The door", "--json"),
        ).json()
        return made["task"]["id"], made["conversation"]["id"]


def leave_waiting(data_dir: Path) -> None:
    """What a request leaves that died before its verdict."""
    archive = Archive(f"sqlite:///{data_dir / 'archive.sqlite3'}", deliver_to_conversation)
    archive.prepare()
    request = TaskRequest(task_id=new_id(), app="chair", initiator="zoe")
    now_ms = time.time_ns() // 1_000_000
    with WorkspaceStore(archive.database).changing() as changes:
        changes.add_task(request, task_manager="chair", now_ms=now_ms, decide_by_ms=now_ms - LATE_MS)
    archive.close()


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkspaceCommands]:
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "agents.toml").write_text(AGENTS)
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
        settings = {
            "redis_url": server.url,
            "agents_file": str(folder / "agents.toml"),
            "data_dir": str(folder / "data"),
            "archive": "true",
            "archive_interval_s": "0.2",
        }
        terminal = Terminal(folder, settings)
        leave_waiting(folder / "data")
        worker = LiveWorker("w1", folder, terminal.environment, app="symposia.workers", concurrency=2)
        client = connect(server.url)
        until(lambda: WorkerPresence(client).list_alive(), timeout_s=50, what="a worker is there")
        yield WorkspaceCommands(terminal, folder)
        worker.close()
        terminal.close()


def test_task_runs_from_request_to_end(commands: WorkspaceCommands) -> None:
    task, conversation = commands.task()
    listed = commands.call("task", "list", "--as", "ben", "--json").json()
    assert listed["tasks"][0]["id"] == task
    sent = commands.call("conversation", "send", conversation, "Blue?", "--as", "ann", "--json").json()
    commands.call("conversation", "send", conversation, "Yes.", "--as", "ben", "--reply-to", sent["id"])
    said = commands.call("conversation", "history", conversation, "--as", "ben")
    assert said.out == "   1 ann: Blue?\n   2 ben: Yes.\n"
    (summary,) = commands.call("conversation", "list", "--as", "ann", "--task", task, "--json").json()[
        "conversations"
    ]
    assert (summary["unreadCount"], summary["lastMessagePreview"]) == (1, "Yes.")
    assert (
        "1 unread  The door: Yes." in commands.call("conversation", "list", "--as", "ann", "--task", task).out
    )
    assert commands.call("conversation", "read", conversation, "--as", "ann").out == "0 unread messages.\n"
    assert commands.call("task", "add", task, "cyd", "--as", "chair").code == 0
    added = commands.call("conversation", "add", conversation, "cyd", "--as", "chair", "--json").json()
    assert added["participants"] == ["ann", "ben", "cyd"]
    assert commands.call("conversation", "remove", conversation, "cyd", "--as", "chair").code == 0
    other = commands.call("conversation", "create", task, "--as", "chair", "--with", "ann", "--json").json()
    assert "archived" in commands.call("conversation", "archive", other["id"], "--as", "chair").out
    assert "archived" not in commands.call("conversation", "unarchive", other["id"], "--as", "chair").out
    assert_listing_and_update(commands, other["id"])
    assert commands.call("task", "remove", task, "cyd", "--as", "chair").code == 0
    assert commands.call("task", "leave", task, "--as", "ben").code == 0
    assert " closed " in commands.call("task", "close", task, "--as", "chair").out
    shown = commands.call("conversation", "show", conversation, "--as", "ann", "--json").json()
    assert (shown["dialogStatus"], shown["participants"], "archivedAt" in shown) == (
        "completed",
        ["ann"],
        True,
    )


def assert_listing_and_update(commands: WorkspaceCommands, conversation: str) -> None:
    """A conversation of ann is renamed and tagged; archived, it is listed only on request."""

    def call(command: str, *options: str) -> Said:
        return commands.call("conversation", command, conversation, "--as", "chair", *options)

    def listed(*options: str) -> dict[str, dict[str, object]]:
        page = commands.call("conversation", "list", "--as", "ann", "--json", *options).json()
        return {it["id"]: it for it in page["conversations"]}

    changed = call("update", "--name", "The roof", "--tag", "kind=roof", "--tag", "a=b=c", "--json").json()
    assert (changed["name"], changed["metadata"]) == ("The roof", {"tags": [{"kind": "roof"}, {"a": "b=c"}]})
    assert "'The roof' [kind=roof, a=b=c] in task" in call("update", "--name", "The roof").out
    assert "metadata" not in call("update", "--no-tags", "--json").json()
    assert "name" not in call("update", "--no-name", "--json").json()
    for options, line in (
        ((), "update: requires a change: --name, --no-name, --tag or --no-tags"),
        (("--tag", "x"), "tag: must be KEY=VALUE (got 'x')"),
        (("--name", "x", "--no-name"), "name: must not be given with --no-name"),
        (("--tag", "a=b", "--no-tags"), "tag: must not be given with --no-tags"),
    ):
        said = call("update", *options)
        assert (said.code, said.err.startswith(f"symposia: {line}")) == (ExitCode.BAD_INPUT, True), said
    assert call("update", "--name", "The roof").code == 0
    call("archive")
    assert conversation not in listed()
    assert "archivedAt" in listed("--archived")[conversation]
    lines = commands.call("conversation", "list", "--as", "ann", "--archived").out.splitlines()
    assert next(it for it in lines if it.startswith(conversation)).endswith("The roof (archived)")


def test_forbidden_call_is_refused_in_one_line(commands: WorkspaceCommands) -> None:
    task, conversation = commands.task()
    for command, code, said in (
        (
            ("task", "close", task, "--as", "ann"),
            ExitCode.NOT_FOUND,
            f"'ann' is not the task-manager of '{task}'",
        ),
        (("conversation", "show", NOTHING, "--as", "ann"), ExitCode.NOT_FOUND, "'ann' is not a member of"),
        (
            ("conversation", "send", conversation, "", "--as", "ann"),
            ExitCode.BAD_INPUT,
            "text: must be text of 1",
        ),
        (("task", "request", "miser", "--as", "ann"), ExitCode.BAD_INPUT, "was rejected: There is no money."),
        (
            ("task", "request", "broken", "--as", "ann"),
            ExitCode.BAD_INPUT,
            "the task-manager failed: out of order",
        ),
        (
            ("task", "request", "nobody", "--as", "ann"),
            ExitCode.BAD_INPUT,
            "app: must have a valid task-manager",
        ),
    ):
        ended = commands.call(*command)
        assert (ended.code, said in ended.err, ended.err.count("\n")) == (code, True, 1), (command, ended)


def test_slow_agent_may_approve(commands: WorkspaceCommands) -> None:
    assert commands.call("task", "request", "slow", "--as", "ann").code == 0


def test_without_an_archive_there_are_no_tasks(commands: WorkspaceCommands) -> None:
    bare = Terminal(commands.folder, {**commands.terminal.settings, "archive": "false"})
    said = bare.call("task", "list", "--as", "ann")
    assert said.code == ExitCode.MISSING
    assert said.err == (
        "symposia: tasks and conversations need the archive, which is disabled (SYMPOSIA_ARCHIVE)\n"
    )


def test_notifications_continue_after_the_cursor(commands: WorkspaceCommands) -> None:
    task, conversation = commands.task()
    told = commands.call("conversation", "notices", "--as", "ben", "--limit", "100", "--json").json()
    mine = [it for it in told if it["taskId"] == task]
    assert [(it["kind"], it.get("conversationId")) for it in mine] == [
        ("task.created", None),
        ("conversation.created", conversation),
    ]
    commands.call("conversation", "archive", conversation, "--as", "chair")
    after = commands.call("conversation", "notices", "--as", "ben", "--after", told[-1]["cursor"])
    assert after.out.endswith(f"conversation.archived  {conversation}\n")
    assert after.out.count("\n") == 1


def test_session_messages_reach_the_conversation(commands: WorkspaceCommands) -> None:
    task, conversation = commands.task()
    (commands.folder / "pair.yaml").write_text(PAIR.replace("CONVERSATION", conversation))
    ended = commands.call("run", "pair.yaml", "--json")
    assert ended.code == 0, ended

    def history() -> list[str]:
        page = commands.call("conversation", "history", conversation, "--as", "ben", "--json").json()
        return [it["sender"] for it in page["messages"]]

    until(lambda: len(history()) == 2, timeout_s=40, what="the conversation has it")
    assert history() == ["ann", "ben"]
    exported = commands.call("export", commands.call("list", "--json", "--limit", "1").json()[0]["id"]).json()
    assert exported["dialog"]["thread_id"] == task


def test_session_of_a_non_member_is_refused(commands: WorkspaceCommands) -> None:
    _, conversation = commands.task()
    commands.call("conversation", "remove", conversation, "ben", "--as", "chair")
    (commands.folder / "refused.yaml").write_text(PAIR.replace("CONVERSATION", conversation))
    ended = commands.call("submit", "refused.yaml")
    assert (ended.code, f"'ben' is not a member of '{conversation}'" in ended.err) == (
        ExitCode.NOT_FOUND,
        True,
    )


def test_worker_fails_abandoned_requests_at_start(commands: WorkspaceCommands) -> None:
    def status() -> str:
        (task,) = commands.call("task", "list", "--as", "zoe", "--json").json()["tasks"]
        return task["status"]

    until(lambda: status() == "failed", timeout_s=40, what="it has failed")


def test_doctor_reports_an_abandoned_request(tmp_path: Path) -> None:
    terminal = Terminal(
        tmp_path, {"data_dir": str(tmp_path), "archive": "true", "redis_url": "redis://127.0.0.1:1"}
    )

    def tasks() -> list[dict[str, str]]:
        return [it for it in terminal.call("doctor", "--json").json()["findings"] if it["subject"] == "tasks"]

    assert tasks() == []
    leave_waiting(tmp_path)
    (finding,) = tasks()
    assert finding["grade"] == "warning"
    assert finding["text"].startswith("1 waiting for a decision that will not come: ")
