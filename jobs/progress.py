"""Sessions as they go on: the dialog in a notebook, and several sessions in the order in which they end.

IPython is not imported: it is used if this process runs in one of its kernels.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import Any, Self

from ..models.errors import InvalidInput, ResultTimeout, WaitInTask
from ..models.protocol.dialog import Message, dialog_html
from ..models.text.words import count_of
from ..state.following import END_ONLY, follow
from .blocking import blocks_worker, check_blocking_wait, current_cell, is_notebook
from .collab import CollabJob
from .reading import connections_of
from .result import JobResult

_BAR_WIDTH = 30
#: Seconds between two looks at all sessions; the end of the first of them is noticed at once.
_LOOK_EVERY_S = 0.5


class LiveDisplay:
    """An output of a notebook that shows the dialog of a session, and is updated with each message.

    Must be created in the kernel of a notebook.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._messages: list[Message] = []
        self._output = _Output(self._html())

    def add(self, message: Message) -> None:
        """Show another message."""
        self._messages.append(message)
        self._output.show(self._html())

    def finish(self, result: JobResult) -> JobResult:
        """Show how the session ended, and return the result, which this cell does not show again."""
        self._output.show(result.to_html())
        return replace(result, shown_in_cell=current_cell())

    def _html(self) -> str:
        return dialog_html(self._title, self._messages, status="running")


class ProgressBar:
    """A bar of steps that are done, in a notebook or on a terminal.

    Args:
        total: Number of steps.
        wanted: Whether it is shown. None: in a notebook, and if standard error is a terminal.
    """

    def __init__(self, total: int, *, wanted: bool | None) -> None:
        self._total, self._done = total, 0
        self._is_wanted = (is_notebook() or sys.stderr.isatty()) if wanted is None else wanted
        self._output: _Output | None = None

    def __enter__(self) -> Self:
        if self._is_wanted and is_notebook():
            self._output = _Output(self._html())
        else:
            self._print()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_wanted and self._output is None:
            sys.stderr.write("\n")

    def advance(self) -> None:
        """Show that another step is done."""
        self._done += 1
        if self._output is not None:
            self._output.show(self._html())
        else:
            self._print()

    def _print(self) -> None:
        if self._is_wanted:
            bar = "#" * (_BAR_WIDTH * self._done // max(self._total, 1))
            sys.stderr.write(f"\r[{bar:{_BAR_WIDTH}}] {self._done}/{self._total}")
            sys.stderr.flush()

    def _html(self) -> str:
        return f'<progress value="{self._done}" max="{self._total}"></progress> {self._done}/{self._total}'


class _Output:
    """An output of a cell whose HTML can be replaced."""

    def __init__(self, html: str) -> None:
        self._handle: Any = sys.modules["IPython"].display.display(_Html(html), display_id=True)

    def show(self, html: str) -> None:
        """Replace the HTML."""
        self._handle.update(_Html(html))


class _Html:
    """An object that notebooks show as HTML."""

    def __init__(self, html: str) -> None:
        self._repr_html_ = lambda: html


def as_completed(
    jobs: Iterable[CollabJob], *, timeout: float | None = None, progress: bool | None = None
) -> Iterator[CollabJob]:
    """Iterate over jobs as their sessions end. Logs a warning when no worker is running.

    Args:
        jobs: The jobs, such as those of `submit_many`.
        timeout: Seconds to wait for all of them. None: no limit.
        progress: Whether a progress bar is shown. None: in a notebook, and if standard error is a terminal.

    Yields:
        Each job once, when its session has ended: `job.result()` does not wait then.

    Raises:
        InvalidInput: `jobs` contains something else.
        ResultTimeout: A session has not ended in time; it continues.
        WaitInTask: It is called in a Celery task of a worker, and a session has not ended.
        WaitInTurn: It is called in the turn of an agent.
    """
    waiting = list(jobs)
    for index, job in enumerate(waiting):
        if not isinstance(job, CollabJob):
            raise InvalidInput(f"jobs[{index}]", job, "must be a CollabJob")
    if waiting:
        check_blocking_wait(waiting[0].id)
        if blocks_worker() and not all(job.state().is_final for job in waiting):
            raise WaitInTask(waiting[0].id)
    return _iterate(waiting, timeout, progress)


def _iterate(waiting: list[CollabJob], timeout: float | None, progress: bool | None) -> Iterator[CollabJob]:
    deadline = inf if timeout is None else time.monotonic() + timeout
    if not waiting:
        return
    look = connections_of(waiting[0]).watch_workers(count_of(len(waiting), "session")).check
    with ProgressBar(len(waiting), wanted=progress) as bar:
        while waiting:
            ended = [job for job in waiting if job.state().is_final]
            waiting = [job for job in waiting if job not in ended]
            for job in ended:
                bar.advance()
                yield job
            left_s = deadline - time.monotonic()
            if waiting and left_s <= 0:
                raise ResultTimeout(waiting[0].id, timeout_s=timeout or 0)
            if waiting and not ended:
                first, wait_s = waiting[0], min(left_s, _LOOK_EVERY_S)
                redis = connections_of(first).redis
                with suppress(ResultTimeout):
                    for _ in follow(
                        redis, first.id, "events", after=END_ONLY, timeout_s=wait_s, waiting=look
                    ):
                        pass
