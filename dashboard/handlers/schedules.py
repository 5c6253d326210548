"""Schedules: list, history, pause, resume and run."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pydantic import JsonValue
from tornado.web import url

from ...models.errors import ScheduleNotFound
from ..live.fragments import Fragments, SentFragments
from ..views.collab_cells import SHORT_ID, cost_text, time_html
from ..views.schedule_rows import (
    MAX_RUNS,
    MAX_SCHEDULES,
    OUTCOME_CLASSES,
    RunPage,
    RunRow,
    ScheduleRow,
    build_run,
    build_schedule,
    build_schedule_page,
    zoned_time_html,
)
from ..views.texts import duration
from .base import ActionHandler, DashboardHandler, DataHandler, PageHandler, one_of_process
from .fragments import PolledView, Templates, sent_pages

#: Group of a schedule's name in URLs.
_NAME = r"([A-Za-z0-9][A-Za-z0-9_.-]{0,63})"
#: Schedules of a page, and runs of a shown history.
PAGE, HISTORY = 50, 20
#: Seconds after which an open page is read again.
READ_EVERY_S = 2.0
#: Maximum number of addresses whose fragments are kept.
_MAX_ADDRESSES = 64


def schedule_routes() -> list[Any]:
    """Return the routes of schedules."""
    return [
        url(r"/schedules", SchedulesPage, name="schedules"),
        url(r"/api/schedules", SchedulesData, name="api_schedules"),
        url(rf"/api/schedules/{_NAME}", ScheduleData, name="api_schedule"),
        url(rf"/api/schedules/{_NAME}/(pause|resume|run)", ScheduleAction, name="api_schedule_action"),
    ]


@dataclass(frozen=True, slots=True)
class SchedulesParams:
    """What the address of the schedules asks for."""

    #: The page begins after this name.
    start: str = ""
    #: Schedule whose history is shown.
    history: str = ""

    def href(self, path: str, **changes: str) -> str:
        """Return the address with other values."""
        values = {"start": self.start, "history": self.history, **changes}
        query = urlencode({name: value for name, value in values.items() if value})
        return f"{path}?{query}" if query else path


class RecentPages:
    """Fragments by what an address asks for, for `READ_EVERY_S` seconds: open pages with the same address share them."""

    def __init__(self) -> None:
        self.pages: dict[SchedulesParams, tuple[float, Fragments]] = {}
        self.changed = asyncio.Event()

    def forget(self) -> None:
        """Let all open pages read the schedules again."""
        self.pages.clear()
        self.changed.set()
        self.changed = asyncio.Event()


class SchedulesView(PolledView):
    """The live parts of an open page of schedules.

    Args:
        handler: The handler of a request, whose address says which schedules are shown.
    """

    def __init__(self, handler: DashboardHandler) -> None:
        super().__init__(self._read_recent)
        self._schedules = handler.services.client.schedules
        self._path = handler.reverse_url("schedules")
        self._recent = one_of_process(handler.application, RecentPages, RecentPages)
        self.params = SchedulesParams(handler.query_text("start"), handler.query_text("history"))
        self._render = Templates(
            handler,
            params=self.params,
            path=self._path,
            time_html=time_html,
            zoned_time_html=zoned_time_html,
            cost_text=cost_text,
            duration=duration,
            outcome_classes=OUTCOME_CLASSES,
            SHORT_ID=SHORT_ID,
            HISTORY=HISTORY,
        ).render

    async def _read_recent(self) -> Fragments:
        """Return fragments that are at most `READ_EVERY_S` seconds old."""
        began, pages = time.monotonic(), self._recent.pages
        if (recent := pages.get(self.params)) is None or began - recent[0] >= READ_EVERY_S:
            recent = began, await self.load()
            if len(pages) >= _MAX_ADDRESSES:
                pages.clear()
            pages[self.params] = recent
        return recent[1]

    async def wait(self, timeout_s: float) -> None:
        """Wait for an action on this Flower."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._recent.changed.wait()

    async def load(self) -> Fragments:
        """Return the fragments of this moment."""
        schedules, params = self._schedules, self.params
        page = build_schedule_page(await schedules.page(after=params.start, limit=PAGE + 1), limit=PAGE)
        runs: list[RunRow] = []
        with suppress(ScheduleNotFound):  # it was removed, or is none
            if params.history:
                runs = [
                    build_run(record) for record in await schedules.history(params.history, count=HISTORY)
                ]
        html: dict[str, str] = {}
        for row in page["schedules"]:
            html[f"schedule-{row['name']}"] = self._row(row)
            if row["name"] == params.history:
                html["history"] = self._render("fragments/schedule_history", row=row, runs=runs)
        order = tuple(html)
        more = params.href(self._path, start=page["next"]) if page["next"] else ""
        html["schedules-end"] = self._render("fragments/schedules_end", shown=len(order), more=more)
        return Fragments(html, {"rows": order})

    def _row(self, row: ScheduleRow) -> str:
        name = row["name"]
        is_open = name == self.params.history
        history = self.params.href(self._path, history="" if is_open else name)
        return self._render("fragments/schedule", row=row, is_open=is_open, history=history)


class SchedulesPage(PageHandler):
    """The list of schedules. Its address says where it begins, and whose history it shows."""

    async def get(self) -> None:
        """Send the page."""
        view = SchedulesView(self)
        fragments = await view.load()
        self.render_page(
            "schedules.html",
            title="Schedules",
            tab="schedules",
            script="forms.js",
            html=fragments.html,
            rows=fragments.lists["rows"],
            sent=sent_pages(self.application).put(SentFragments.of(fragments)),
        )


class SchedulesData(DataHandler):
    """The schedules as JSON."""

    async def data(self, *_parts: str) -> object:
        """Return a page of schedules, by name."""
        limit = self.query_number("limit", 50, most=MAX_SCHEDULES)
        entries = await self.services.client.schedules.page(after=self.query_text("after"), limit=limit + 1)
        return build_schedule_page(entries, limit=limit)


class ScheduleData(DataHandler):
    """A schedule with its history as JSON."""

    async def data(self, *parts: str) -> object:
        """Return the schedule and its newest runs."""
        schedules, count = self.services.client.schedules, self.query_number("limit", 20, most=MAX_RUNS)
        entry = await schedules.get(parts[0])
        records = await schedules.history(parts[0], count=count)
        return RunPage(schedule=build_schedule(entry), runs=[build_run(record) for record in records])


class ScheduleAction(ActionHandler):
    """Pause, resume or run a schedule."""

    async def act(self, _body: dict[str, JsonValue], *parts: str) -> object:
        """Perform the action that the URL names; return the schedule after it."""
        name, verb = parts
        schedules, run = self.services.client.schedules, None
        match verb:
            case "pause":
                await schedules.pause(name)
            case "resume":
                await schedules.resume(name)
            case _:
                run = await schedules.run_now(name)
        one_of_process(self.application, RecentPages, RecentPages).forget()
        return {"schedule": build_schedule(await schedules.get(name)), "run": run}
