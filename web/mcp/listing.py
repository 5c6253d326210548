"""Sessions and open questions that a caller sees."""

from __future__ import annotations

from collections.abc import Sequence

from ...client.aio.jobs import blocking_job
from ...jobs.collab import CollabJob
from ...jobs.reading import heads_of
from ...models.errors import InvalidInput, SessionNotFound
from ...models.identity import Caller
from ...models.protocol.collab import CollabStatus
from ...models.turns.waiting import Pending
from ..context import WebContext, open_job
from .arguments import MAX_LISTED, ListArguments
from .results import SessionList, SessionSummary

#: Sessions, or questions, of one read.
_STEP = 100
#: Maximum number of sessions, or questions, that are read for a page.
_MAX_READ = 2_000


async def list_sessions(context: WebContext, caller: Caller, given: ListArguments) -> SessionList:
    """Return one page of the live sessions that a caller sees, newest first.

    Raises:
        InvalidInput: The cursor is not valid.
        RedisUnavailable: Redis does not answer.
    """
    start = offset = _position(given.cursor)
    found: list[SessionSummary] = []
    while offset < start + _MAX_READ:
        jobs = await context.client.jobs(count=_STEP, offset=offset)
        blocking = [blocking_job(job) for job in jobs]
        for summary in await context.client.run(_summaries, blocking, caller, given.status):
            offset += 1
            if summary is not None:
                found.append(summary)
            if len(found) == given.limit:
                return SessionList(sessions=found, next_cursor=str(offset))
        if len(jobs) < _STEP:
            return SessionList(sessions=found, next_cursor=None)
    return SessionList(sessions=found, next_cursor=str(offset))


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > len(str(10**9)):
        raise InvalidInput("cursor", cursor, "must be `next_cursor` of the page before")
    return int(cursor)


def _summaries(
    jobs: Sequence[CollabJob], caller: Caller, status: CollabStatus | None
) -> list[SessionSummary | None]:
    """Return each session; None: the caller does not see it, or it has another status."""
    return [_summary(job, caller, status) for job in jobs]


def _summary(job: CollabJob, caller: Caller, status: CollabStatus | None) -> SessionSummary | None:
    try:
        state = job.state()
        if not caller.sees(job.spec.tenant) or status not in (None, state.status):
            return None
        return SessionSummary(session_id=job.id, title=heads_of(job)[0].title, status=state.status)
    except SessionNotFound:
        return None


async def list_inbox(context: WebContext, caller: Caller) -> list[Pending]:
    """Return open questions of the sessions that a caller sees, the oldest first.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    found: list[Pending] = []
    cursor: str | None = None
    for _ in range(_MAX_READ // _STEP):
        page = await context.client.inbox_page(limit=_STEP, after=cursor)
        found += [
            question
            for question in page.items
            if caller.tenant is None or await _sees(context, caller, question.session_id)
        ]
        cursor = page.cursor
        if cursor is None or len(found) >= MAX_LISTED:
            break
    return found[:MAX_LISTED]


async def _sees(context: WebContext, caller: Caller, session_id: str) -> bool:
    try:
        await open_job(context, caller, session_id)
    except SessionNotFound:
        return False
    return True
