"""The runs that pages of reviews show, read once for many requests.

A run contains all its items and findings, so reading it costs O(run). Its progress costs O(1). The newest runs
stay in memory, and a run is read again only after its progress has changed.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass
from weakref import WeakValueDictionary

from ..client.aio.client import AsyncClient
from ..models.errors import ArchiveUnavailable, ReviewNotFound, StateError
from ..models.text.ids import ms_from_moment
from ..reviews.state.records import BatchView
from ..reviews.values.findings import Finding
from ..reviews.values.runs import ReviewRun, RunState, TrendPoint
from .views.review_rows import sort_findings

#: Number of runs in memory.
_KEPT = 4
#: Seconds until an active run is read again.
_FRESH_S = 5.0
#: Number of runs of a trend, and of the newest runs among which they are found.
MAX_TREND, _TREND_RUNS = 12, 50
#: States of runs whose findings can be compared.
_REVIEWED = (RunState.COMPLETED, RunState.PARTIAL)


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A run in memory."""

    run: ReviewRun
    #: Sorted for the page.
    findings: tuple[Finding, ...]
    #: The progress when it was read; None: it was read from the archive.
    view: BatchView | None
    #: `time.monotonic()` of the reading.
    read_at: float
    #: Archived runs of the same root, panel and branch until this one, the oldest first.
    trend: tuple[TrendPoint, ...] = ()

    @property
    def before(self) -> TrendPoint | None:
        """The archived run before this one that reviewed its items; None: there is none."""
        others = (point for point in reversed(self.trend) if point.run_id != self.run.id)
        return next((point for point in others if point.state in _REVIEWED), None)


class ReviewRuns:
    """The newest runs that were asked for.

    Args:
        client: The client.
    """

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._loaded: OrderedDict[str, LoadedRun] = OrderedDict()
        #: One reading of a review at a time: the other requests find its result. A lock lives while it is used.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        #: Bounds the memory of the runs that are read at the same time.
        self._readings = asyncio.Semaphore(_KEPT)

    async def read(self, review_id: str) -> tuple[LoadedRun, BatchView | None]:
        """Return a run, at most some seconds old, and its progress now; None: only the archive has the run.

        Raises:
            ReviewNotFound: There is no such review.
            ArchiveUnavailable: The archive does not answer.
        """
        view = await self._progress(review_id)
        async with self._locks.setdefault(review_id, asyncio.Lock()):
            loaded = self._loaded.get(review_id)
            if loaded is None or not _is_fresh(loaded, view):
                loaded = await self._load(review_id, view)
            self._loaded[review_id] = loaded
            self._loaded.move_to_end(review_id)
            if len(self._loaded) > _KEPT:
                self._loaded.popitem(last=False)
        return loaded, view

    async def _load(self, review_id: str, view: BatchView | None) -> LoadedRun:
        async with self._readings:
            run = await (await self._client.get_review(review_id)).run()
        return LoadedRun(run, sort_findings(run.findings), view, time.monotonic(), await self._trend(run))

    async def _trend(self, run: ReviewRun) -> tuple[TrendPoint, ...]:
        try:
            points = await self._client.review_trend(
                run.root or run.root_name, panel=run.panel, branch=run.branch or None, limit=_TREND_RUNS
            )
        except ArchiveUnavailable:
            return ()
        started_ms = ms_from_moment(run.started_at)
        return tuple(point for point in points if point.started_ms <= started_ms)[-MAX_TREND:]

    async def _progress(self, review_id: str) -> BatchView | None:
        try:
            return await (await self._client.get_review(review_id)).progress()
        except (ReviewNotFound, StateError):
            return None


def _is_fresh(loaded: LoadedRun, view: BatchView | None) -> bool:
    if loaded.view == view:
        return True
    has_ended = view is None or view.has_ended
    return not has_ended and time.monotonic() - loaded.read_at < _FRESH_S
