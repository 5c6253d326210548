"""Sessions and open questions that a caller sees, as the lists of the HTTP API have them."""

from __future__ import annotations

from ...models.identity import Caller
from ..answers import QuestionData
from ..context import WebContext
from ..routes.lists import PageFilters, get_inbox, get_sessions
from .arguments import MAX_LISTED, ListArguments
from .results import SessionList, SessionSummary


async def list_sessions(context: WebContext, caller: Caller, given: ListArguments) -> SessionList:
    """Return one page of live and archived sessions, newest first.

    Raises:
        InvalidInput: The cursor is not valid.
        RedisUnavailable: Redis does not answer.
    """
    status = "" if given.status is None else given.status.value
    filters = PageFilters(status=status, limit=given.limit, cursor=given.cursor)
    page = await get_sessions(filters, context, caller)
    sessions = [
        SessionSummary(
            session_id=str(row["id"]),
            title=str(row.get("title", "")),
            status=str(row.get("shown", row["status"])),
        )
        for row in page.items
    ]
    return SessionList(sessions=sessions, next_cursor=page.next_cursor)


async def list_inbox(context: WebContext, caller: Caller) -> list[QuestionData]:
    """Return open questions, the oldest first.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    return (await get_inbox(context, caller, limit=MAX_LISTED)).items
