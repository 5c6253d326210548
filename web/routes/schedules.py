"""Routes of schedules, for callers of all tenants: a schedule belongs to the installation."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Response
from pydantic import Field, JsonValue

from ...models.errors import InvalidInput, ScheduleNotFound
from ...schedules.schedule import DEFAULT_GRACE_S, MissedPolicy, OverlapPolicy
from ...schedules.schedules import ScheduleEntry, record_json
from ..answers import Answer
from ..context import AllController, AllReader, ContextDep, WebContext
from ..routing import api_router
from ..submissions import Body

router = api_router("schedules")

Json = dict[str, JsonValue]
Name = Annotated[str, Path(max_length=64)]


class ScheduleBody(Body):
    """A schedule: `cron` or `every`, and `review` or `job`, as in a schedules file."""

    cron: str | None = None
    every: int | str | None = None
    zone: str = "UTC"
    review: Json | None = None
    #: Name of a session file of the setting `jobs`.
    job: str | None = None
    overlap: OverlapPolicy = OverlapPolicy.SKIP
    missed: MissedPolicy = MissedPolicy.SKIP
    grace_s: Annotated[int, Field(ge=10, le=3_600)] = DEFAULT_GRACE_S


class NewScheduleBody(ScheduleBody):
    """A schedule with its name."""

    name: str


class SchedulePage(Answer):
    """A page of schedules, by name."""

    items: list[Json]
    next_cursor: str | None


class StartedRun(Answer):
    """A run that was started."""

    #: Id of the run, which is that of its session or review.
    id: str


def _json(entry: ScheduleEntry) -> Json:
    return entry.to_json()


@router.get("/schedules")
async def get_schedules(
    context: ContextDep,
    _: AllReader,
    cursor: Annotated[str, Query(max_length=64)] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 100,
) -> SchedulePage:
    """List schedules, by name, after the name `cursor`."""
    entries = await context.client.schedules.page(after=cursor, limit=limit + 1)
    page = entries[:limit]
    return SchedulePage(
        items=[_json(entry) for entry in page],
        next_cursor=page[-1].schedule.name if len(entries) > limit else None,
    )


@router.post("/schedules", status_code=201)
async def add_schedule(body: NewScheduleBody, context: ContextDep, _: AllController) -> Json:
    """Add a schedule. It takes effect at once."""
    return await _put(context, body.name, body, replace=False)


@router.get("/schedules/{name}")
async def get_schedule(name: Name, context: ContextDep, _: AllReader) -> Json:
    """Return a schedule."""
    return _json(await context.client.schedules.get(name))


@router.put("/schedules/{name}")
async def put_schedule(name: Name, body: ScheduleBody, context: ContextDep, _: AllController) -> Json:
    """Replace a schedule, or add it."""
    return await _put(context, name, body, replace=True)


async def _put(context: WebContext, name: str, body: ScheduleBody, *, replace: bool) -> Json:
    await _check_own(context, name)
    given: dict[str, Any] = body.model_dump(exclude={"name"})
    return _json(await context.client.schedules.add(name, **given, replace=replace))


async def _check_own(context: WebContext, name: str) -> None:
    """Refuse a change of a schedule of the schedules file: the next start of a beat would undo it."""
    try:
        entry = await context.client.schedules.get(name)
    except ScheduleNotFound:
        return
    if entry.from_settings:
        raise InvalidInput("name", name, "must not be that of a schedule of the schedules file")


@router.delete("/schedules/{name}", status_code=204)
async def delete_schedule(name: Name, context: ContextDep, _: AllController) -> Response:
    """Delete a schedule and its history; running jobs continue."""
    await _check_own(context, name)
    await context.client.schedules.remove(name)
    return Response(status_code=204)


@router.get("/schedules/{name}/history")
async def get_history(
    name: Name,
    context: ContextDep,
    _: AllReader,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> list[Json]:
    """Return the newest runs of a schedule."""
    return [record_json(record) for record in await context.client.schedules.history(name, count=limit)]


@router.post("/schedules/{name}/run", status_code=202)
async def run_schedule(name: Name, context: ContextDep, _: AllController) -> StartedRun:
    """Run a schedule once more, in addition to its times, even if it is paused."""
    return StartedRun(id=await context.client.schedules.run_now(name))


@router.post("/schedules/{name}/pause")
async def pause_schedule(name: Name, context: ContextDep, _: AllController) -> Json:
    """Pause a schedule; running jobs continue."""
    await context.client.schedules.pause(name)
    return _json(await context.client.schedules.get(name))


@router.post("/schedules/{name}/resume")
async def resume_schedule(name: Name, context: ContextDep, _: AllController) -> Json:
    """Resume a schedule with its next time; missed times are skipped."""
    await context.client.schedules.resume(name)
    return _json(await context.client.schedules.get(name))
