"""A client in a process of its own: `python -m upgrades.client_program`, with one JSON request a line.

It runs with the code of each kept release, so it uses public names only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import symposia


class Program:
    """The requests by their names; sessions are followed in threads."""

    def __init__(self, client: symposia.Client, threads: ThreadPoolExecutor) -> None:
        self._client = client
        self._threads = threads
        self._followed: dict[str, Future[dict[str, Any]]] = {}

    def code(self) -> str:
        return str(Path(symposia.__file__).parents[1])

    def submit(self, session: dict[str, Any]) -> str:
        collab = session.pop("collab")
        return self._client.submit(collab, **session).id

    def reply(self, session: str, name: str, text: str) -> None:
        self._client.get_job(session).reply(name, text)

    def is_asked(self, session: str) -> bool:
        """Return whether a question to a person is open."""
        return bool(self._client.get_job(session).pending())

    def status(self, session: str) -> str:
        return self._client.get_job(session).status().value

    def review(self, root: str, panel: str, panels_file: str) -> str:
        folder = Path(root)
        review = self._client.review(
            folder, panel=panel, root_name=folder.name, panels_file=Path(panels_file)
        )
        return review.id

    def reviewed(self, review: str, timeout_s: float) -> tuple[str, int]:
        """Return how a review has ended, and the number of its results."""
        run = self._client.get_review(review).result(timeout_s)
        return run.state.value, len(run.results)

    def add_schedule(self, name: str, every: int, job: str) -> None:
        self._client.schedules.add(name, every=every, job=job)

    def outcomes(self, schedule: str) -> list[str]:
        """Return how the runs of a schedule have ended, newest first."""
        return [it.outcome.value for it in self._client.schedules.history(schedule)]

    def follow(self, session: str) -> None:
        self._followed[session] = self._threads.submit(self._follow, session)

    def seen(self, session: str, timeout_s: float) -> dict[str, Any]:
        """Return all events of a followed session, and its result."""
        return self._followed[session].result(timeout_s)

    def _follow(self, session: str) -> dict[str, Any]:
        job = self._client.get_job(session)
        events = [(it.event_id, it.event_type) for it in job.events(follow=True)]
        result = job.result()
        messages = [(it.turn_number, it.content) for it in result.dialog.messages]
        return {
            "events": events,
            "reason": result.reason,
            "turns": result.turns,
            "messages": messages,
            "output": result.output_data,
        }


def main() -> None:
    """Answer one request after the other, until there are no more."""
    with symposia.Client() as client, ThreadPoolExecutor(64) as threads:
        program = Program(client, threads)
        for line in sys.stdin:
            name, arguments = json.loads(line)
            verb: Callable[..., Any] = getattr(program, name)
            try:
                answer = {"answer": verb(**arguments)}
            except symposia.SymposiaError as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)  # noqa: T201 - this is the answer


if __name__ == "__main__":
    main()
