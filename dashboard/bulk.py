"""Actions on many sessions: those that a person selected, or all that match a query."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..client.aio.jobs import AsyncCollabJob, blocking_job
from ..jobs.retrying import retry_session
from ..models.errors import IllegalTransition, InvalidInput, SymposiaError
from ..models.sessions.bulk import ACTION_STATUSES, query_for
from ..models.sessions.query import SessionQuery
from ..models.sessions.shown_status import ShownStatus, shown_status
from ..models.text.words import count_of
from .services import Services
from .views.session_search import search_sessions

#: Maximum number of sessions that one request changes or exports.
MAX_SESSIONS = 10_000
#: Sessions that are changed at the same time; each needs a thread of the client.
BATCH = 4
#: Maximum number of failures that an answer names.
MAX_FAILURES = 20
#: Sessions of one page of a query.
_PER_PAGE = 500


@dataclass(frozen=True, slots=True)
class BulkVerb:
    """An action on many sessions."""

    #: Such as `Cancelled`, for the result.
    past: str
    #: Performs it: services, session, who acts, reason.
    perform: Callable[[Services, AsyncCollabJob, str, str], Awaitable[object]]
    #: Whether it cannot be undone, so that the page asks first.
    asks: bool = False


async def _cancel(_services: Services, job: AsyncCollabJob, actor: str, reason: str) -> None:
    await job.cancel(reason or "cancelled", by=actor)


async def _suspend(_services: Services, job: AsyncCollabJob, actor: str, _reason: str) -> None:
    await job.suspend(by=actor)


async def _resume(_services: Services, job: AsyncCollabJob, actor: str, _reason: str) -> None:
    await job.resume(by=actor)


async def _retry(services: Services, job: AsyncCollabJob, _actor: str, _reason: str) -> None:
    await services.client.run(retry_session, blocking_job(job))


VERBS: Mapping[str, BulkVerb] = {
    "cancel": BulkVerb("Cancelled", _cancel, asks=True),
    "suspend": BulkVerb("Suspended", _suspend),
    "resume": BulkVerb("Resumed", _resume),
    "retry": BulkVerb("Began again", _retry, asks=True),
}


@dataclass(frozen=True, slots=True)
class Selection:
    """The sessions of a request: ids, or all that match a query."""

    ids: tuple[str, ...] = ()
    query: SessionQuery | None = None


@dataclass(slots=True)
class Plan:
    """What an action would change."""

    verb: BulkVerb
    #: Number of selected sessions, also by status as shown.
    total: int
    statuses: Mapping[str, int]
    #: Ids of those that it changes.
    ids: Sequence[str]


async def plan_bulk(services: Services, name: str, selection: Selection) -> Plan:
    """Return what an action would change.

    Raises:
        InvalidInput: There is no such action, or it would change too many sessions.
    """
    if (verb := VERBS.get(name)) is None:
        raise InvalidInput("action", name, f"must be one of {', '.join(VERBS)}")
    if selection.query is None:
        found = [(session_id, await _status(services, session_id)) for session_id in selection.ids]
        statuses: Mapping[str, int] = Counter(status for _, status in found if status)
        ids = [
            session_id for session_id, status in found if status is None or status in ACTION_STATUSES[name]
        ]
        return Plan(verb, len(found), statuses, ids)
    page = await search_sessions(services, selection.query.changed(per_page=1, group=""))
    chosen = selection.query.status or tuple(ShownStatus)
    counts = {status: page.counts[status] for status in chosen}
    query = query_for(name, selection.query)
    ids = [] if query is None else [session_id async for session_id in matching_ids(services, query)]
    return Plan(verb, page.total, counts, ids)


async def _status(services: Services, session_id: str) -> ShownStatus | None:
    """Return the status of a session as shown; None: it cannot be read, so the action will say why."""
    if (row := services.sessions.get(session_id)) is not None:
        return ShownStatus(row["shown"])
    try:
        state = await (await services.client.get_job(session_id)).state()
    except SymposiaError:
        return None
    return shown_status(state.status.value, state.reason)


async def matching_ids(
    services: Services, query: SessionQuery, *, most: int = MAX_SESSIONS
) -> AsyncIterator[str]:
    """Yield the ids of all sessions that match.

    Raises:
        InvalidInput: There are more than `most`.
    """
    query = query.changed(sort="-opened", per_page=_PER_PAGE, group="")
    seen: set[str] = set()
    pages = page_number = 1
    while page_number <= pages:
        page = await search_sessions(services, query.changed(page=page_number))
        if page.total > most:
            rule = f"must match at most {most:,} of these sessions (it matches {page.total:,})"
            raise InvalidInput("query", query.to_params(), rule)
        # Sessions move to another page when new ones are opened.
        for row in page.rows:
            if row["id"] not in seen:
                seen.add(row["id"])
                yield row["id"]
        pages, page_number = page.pages, page_number + 1


@dataclass(slots=True)
class BulkResult:
    """What an action changed."""

    done: int = 0
    failed: int = 0
    #: Session and error of the first failures.
    failures: list[tuple[str, str]] = field(default_factory=list)


async def run_bulk(services: Services, plan: Plan, *, actor: str, reason: str) -> BulkResult:
    """Perform an action, a few sessions at a time. A session that fails does not stop the others."""
    result = BulkResult()

    async def change(session_id: str) -> None:
        try:
            await plan.verb.perform(services, await services.client.get_job(session_id), actor, reason)
            result.done += 1
        except IllegalTransition:
            pass  # it has changed meanwhile, so the action is not for it
        except SymposiaError as error:
            result.failed += 1
            if len(result.failures) < MAX_FAILURES:
                result.failures.append((session_id, str(error)))

    for start in range(0, len(plan.ids), BATCH):
        await asyncio.gather(*map(change, plan.ids[start : start + BATCH]))
    return result


def describe_result(plan: Plan, result: BulkResult) -> str:
    """Return the result in one line."""
    parts = [f"{plan.verb.past} {result.done:,} of {count_of(plan.total, 'session', spec=',')}"]
    if unchanged := plan.total - result.done - result.failed:
        parts.append(f"{unchanged:,} stay as they are")
    if result.failed:
        parts.append(f"{result.failed:,} failed: {result.failures[0][1]}")
    return "; ".join(parts) + "."
