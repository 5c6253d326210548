"""How long pages of conversations take at 100,000 messages, on SQLite (or the URL given): half of them in one conversation.

.venv/bin/python benchmarks/conversations.py [--messages 100000] [--url postgresql://...]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from symposia.archive.archive import Archive
from symposia.models.protocol.dialog import Role, build_turn_message
from symposia.models.text.ids import new_id, utcnow
from symposia.workspace.service import WorkspaceService
from symposia.workspace.sql.messages import append_messages, lock_conversation_row
from symposia.workspace.sql.store import deliver_to_conversation
from symposia.workspace.task_managers import TaskManagers
from symposia.workspace.values.conversation import IncomingMessage

#: Messages written in one transaction.
EACH = 1_000
CONVERSATIONS = 500
READER, WRITER, CHAIR = "ann", "ben", "chair"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--url", help="a database other than a SQLite file in a temporary folder")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive(
            chosen.url or f"sqlite:///{Path(folder) / 'archive.sqlite3'}", deliver_to_conversation
        )
        workspace, ids = filled(archive, chosen.messages)
        measure(workspace, ids)
        archive.close()


def filled(archive: Archive, messages: int) -> tuple[WorkspaceService, list[str]]:
    """A workspace, and its conversations: the first one has half of all messages, and the most recent activity."""
    managers = TaskManagers()
    managers.register("bench", lambda _request: True, agent=CHAIR)
    workspace = WorkspaceService(archive, managers=managers)
    task = workspace.request_task("bench", READER, [WRITER]).task
    ids = [
        workspace.conversation_create(CHAIR, task.id, [READER, WRITER], name=f"Number {number}").id
        for number in range(CONVERSATIONS)
    ]
    began = time.perf_counter()
    for number in reversed(range(CONVERSATIONS)):
        left = messages // 2 if number == 0 else messages // 2 // CONVERSATIONS
        while left > 0:
            with archive.database.writing() as connection:
                into = lock_conversation_row(connection, ids[number])
                append_messages(connection, into, [incoming(index) for index in range(min(left, EACH))])
            left -= EACH
    print(f"{messages:,} messages written in {time.perf_counter() - began:.1f} s")
    return workspace, ids


def measure(workspace: WorkspaceService, ids: list[str]) -> None:
    big = ids[0]
    first, older = (
        workspace.conversation_list(READER).cursor,
        workspace.history(READER, big, limit=100).cursor,
    )
    measure_query("the first page of 50 conversations", lambda: workspace.conversation_list(READER))
    measure_query("the page after it", lambda: workspace.conversation_list(READER, cursor=first))
    workspace.send(WRITER, big, "Something new.")
    measure_query(
        "the same, while others say something", lambda: workspace.conversation_list(READER, cursor=first)
    )
    measure_query("50 messages of the largest conversation", lambda: workspace.history(READER, big))
    measure_query("those before 100", lambda: workspace.history(READER, big, cursor=older))
    measure_query("the conversation itself", lambda: workspace.conversation_get(READER, big))
    measure_query("a message sent", lambda: workspace.send(WRITER, big, "And more."))
    measure_query("read up to the newest", lambda: workspace.mark_read(READER, big))


def measure_query(what: str, ask: Callable[[], object], *, times: int = 30) -> None:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        ask()
        took.append((time.perf_counter() - began) * 1000)
    print(f"{what:<40} median {statistics.median(took):7.2f} ms   most {max(took):7.2f} ms")


def incoming(number: int) -> IncomingMessage:
    who = READER if number % 3 == 0 else WRITER
    text = f"What number {number} is about. " * 5
    message = build_turn_message(
        Role.AGENT,
        text,
        timestamp=utcnow(),
        participant_id=who,
        turn_number=number + 1,
        token_id=new_id(),
        fence=number,
    )
    return IncomingMessage(new_id(), message, time.time_ns() // 1_000_000)


if __name__ == "__main__":
    main()
