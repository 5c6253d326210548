"""The jobs of several sessions in the order in which they end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import inf

from ..models.errors import InvalidInput, ResultTimeout
from ..models.text.words import count_of
from ..state.following import END_ONLY, follow
from .blocking import check_blocking_wait
from .collab import CollabJob
from .notebook import ProgressBar
from .reading import connections_of

#: Seconds between two looks at all sessions; the end of the first of them is noticed at once.
_LOOK_EVERY_S = 0.5


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
        WaitInTurn: It is called in the turn of an agent.
    """
    waiting = list(jobs)
    for index, job in enumerate(waiting):
        if not isinstance(job, CollabJob):
            raise InvalidInput(f"jobs[{index}]", job, "must be a CollabJob")
    if waiting:
        check_blocking_wait(waiting[0].id)
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
