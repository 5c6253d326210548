"""Schedules: list, history, pause, resume and run."""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue
from tornado.web import url

from ..views.schedule_rows import (
    MAX_RUNS,
    MAX_SCHEDULES,
    RunPage,
    build_run,
    build_schedule,
    build_schedule_page,
)
from .base import ActionHandler, DataHandler, PageHandler

#: Group of a schedule's name in URLs.
_NAME = r"([A-Za-z0-9][A-Za-z0-9_.-]{0,63})"


def schedule_routes() -> list[Any]:
    """Return the routes of schedules."""
    return [
        url(r"/schedules", SchedulesPage, name="schedules"),
        url(r"/api/schedules", SchedulesData, name="api_schedules"),
        url(rf"/api/schedules/{_NAME}", ScheduleData, name="api_schedule"),
        url(rf"/api/schedules/{_NAME}/(pause|resume|run)", ScheduleAction, name="api_schedule_action"),
    ]


class SchedulesPage(PageHandler):
    """The list of schedules."""

    async def get(self) -> None:
        """Send the page."""
        self.render_page("schedules.html", title="Schedules", tab="schedules", script="schedules.js")


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
        return {"schedule": build_schedule(await schedules.get(name)), "run": run}
