"""An installation as the pages take it for granted: a project, a Redis server, a worker and an archive."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from documents.lines import ROOT
from live import LiveWorker, until
from processes.terminal import Terminal
from servers.redis_nodes import HOST, Node
from symposia.state.redis.keys import ARCHIVE_QUEUE

#: Agents of sessions in the pages; the others are those of `symposia init`.
AGENTS = """
[agents.critic]
kind = "scripted"
replies = ['{"score": 0.8, "reason": "It asks for little."}']

[agents.chair]
kind = "scripted"
replies = ["APPROVED: by all means"]
"""


class Installation:
    """A folder with the files of `symposia init` and the examples, and what runs there."""

    def __init__(self, folder: Path, *, configuration: str = "", agents: str = "", **settings: str) -> None:
        """`configuration`: lines of a configuration file of Redis; `agents`: more of an agents file."""
        self.folder = folder / "project"
        shutil.copytree(ROOT / "examples/starter", self.folder)
        shutil.copytree(ROOT / "examples", self.folder / "examples")
        with (self.folder / "agents.toml").open("a") as file:
            file.write(AGENTS + agents)
        lines = configuration or 'save ""'
        self.node = Node(folder / "redis", *shlex.split(re.sub(r"^(?=\w)", "--", lines, flags=re.MULTILINE)))
        self.url = f"redis://{HOST}:{self.node.port}/0"
        self.terminal = Terminal(self.folder, {**self._settings(folder), **settings})
        self._workers: list[LiveWorker] = []

    def _settings(self, folder: Path) -> dict[str, str]:
        return {
            "redis_url": self.url,
            "data_dir": str(folder / "data"),
            "archive": "true",
            "archive_interval_s": "0.2",
            "sweep_interval_s": "0.2",
            "redispatch_after_s": "2",
            "lease_s": "2",
        }

    def start_redis(self, *, appendonly: str = "yes") -> None:
        self.node.start("--appendonly", appendonly)

    def start_worker(self) -> LiveWorker:
        number = len(self._workers)
        environment = self.terminal.environment
        worker = LiveWorker(f"w{number}", self.folder, environment, app="symposia.workers", concurrency=4)
        self._workers.append(worker)
        return worker.wait_ready()

    @property
    def worker(self) -> LiveWorker:
        """The newest one."""
        return self._workers[-1]

    def kill_worker(self) -> None:
        self.worker.kill()

    def restart_worker(self) -> None:
        self.kill_worker()
        self.start_worker()

    def submit(self, file: str, *options: str) -> str:
        """The id of a new session."""
        said = self.terminal.call("submit", file, *options)
        assert said.code == 0, said
        return said.out.strip()

    def complete(self, session: str) -> str:
        """The id of a session, once it has completed."""
        until(lambda: self.read(session)["status"] == "completed", what=f"{session} is completed")
        return session

    def read(self, session: str) -> Any:
        """A session as `symposia show --json` prints it."""
        return self.terminal.call("show", session, "--json").json()

    def wait_until_archived(self, session: str) -> None:
        """Waits until nothing of the session is pending."""

        def is_archived() -> bool:
            due_ms = self.node.client.zscore(ARCHIVE_QUEUE, session)
            now_s = self.node.client.time()[0]
            return due_ms is None or due_ms > (now_s + 120) * 1000

        until(is_archived, what=f"{session} is archived")

    def wait_for_question(self, session: str) -> None:
        def is_asked() -> bool:
            questions = self.terminal.call("inbox", "--json").json()
            return any(it["session_id"] == session for it in questions)

        until(is_asked, what=f"a question of {session}")

    def ask(self) -> str:
        """The id of a session that waits for the person `you`."""
        session = self.submit("session.yaml")
        self.wait_for_question(session)
        return session

    def answer(self, session: str) -> None:
        """Answers the open question of a session, which then completes."""
        self.wait_for_question(session)
        assert self.terminal.call("reply", session, "you", "Thanks.").code == 0
        self.complete(session)

    def close(self) -> None:
        for worker in self._workers:
            worker.close()
        self.terminal.close()
        self.node.close()


@contextmanager
def installed(folder: Path, **choices: str) -> Iterator[Installation]:
    """An installation whose Redis server and worker run; `choices` as of `Installation`."""
    installation = Installation(folder, **choices)
    try:
        installation.start_redis()
        installation.start_worker()
        yield installation
    finally:
        installation.close()
