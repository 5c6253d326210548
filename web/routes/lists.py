"""Routes of lists: sessions, open questions, archived messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, ClassVar, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ...archive.results import FoundMessage, ResultPage, SessionFilter
from ...client.aio.client import call_with_client
from ...client.client import Client
from ...client.session_rows import session_page
from ...jobs.collab import CollabJob
from ...models.errors import InvalidInput, SessionNotFound
from ...models.identity import Caller
from ...models.sessions.query import SessionQuery
from ...models.text.ids import moment_from_ms
from ...models.turns.waiting import Pending
from ..answers import Answer, QuestionData
from ..context import ContextDep, Reader, WebContext
from ..routing import api_router

router = api_router("lists")

#: Maximum number of entries of a page.
MAX_LIMIT = 100
#: Maximum number of questions that are read for a page of one tenant.
_MAX_READ = 1_000
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]
Cursor = Annotated[str, Field(max_length=1_000)]


R = TypeVar("R")


async def read_list(context: WebContext, read: Callable[[Client], R]) -> R:
    """Call a blocking function that reads a list; at most `MAX_LISTS` of them run at the same time."""
    await context.lists.acquire()
    call = asyncio.ensure_future(call_with_client(context.client, read))
    # The thread continues after the caller is cancelled.
    call.add_done_callback(lambda _: context.lists.release())
    return await asyncio.shield(call)


class Filters(BaseModel):
    """Filters of sessions, as in the address of the list page; lists take commas."""

    model_config = ConfigDict(extra="forbid")
    #: Fields that are no filter of a query here.
    _own: ClassVar[frozenset[str]] = frozenset()

    q: str = Field(default="", description="Text in the title, the error, or a participant; an agent; an id.")
    status: str = Field(default="", description="Statuses as shown, such as `active,failed`.")
    attention: str = Field(default="", description="Kinds of attention, such as `person,stuck`.")
    mode: str = ""
    tenant: str = ""
    agent: str = Field(default="", description="Name of an agent, or id of a participant.")
    tag: str = ""
    user: str = ""
    thread: str = ""
    error: str = Field(default="", description="Text in the error.")
    cost_min: str = Field(default="", description="Minimum cost in US dollars.")
    since: str = Field(default="", description="Opened at or after this time: `24h`, or ISO 8601.")
    until: str = Field(default="", description="Opened before this time.")

    def query(self, caller: Caller) -> SessionQuery | None:
        """Return the query for the sessions that a caller sees; None: there are none.

        Raises:
            InvalidInput: A value is wrong.
        """
        given = {
            name: [value]
            for name in Filters.model_fields.keys() - self._own
            if (value := getattr(self, name)) != ""
        }
        query = SessionQuery.read_strictly(given)
        if caller.tenant is None:
            return query
        return query.changed(tenant=caller.tenant) if query.tenant in ("", caller.tenant) else None


class PageFilters(Filters):
    """Filters and position of a page of sessions."""

    cursor: Cursor | None = None
    limit: Limit = 50


class SearchFilters(PageFilters):
    """Words, filters and position of a page of archived messages."""

    _own = frozenset({"q"})
    q: str = Field(min_length=1, max_length=500, description="Words that a message must contain.")


class SessionPage(Answer):
    """A page of sessions, newest first."""

    items: list[dict[str, JsonValue]]
    next_cursor: str | None


@router.get("/sessions")
async def get_sessions(
    filters: Annotated[PageFilters, Query()], context: ContextDep, caller: Reader
) -> SessionPage:
    """List live and archived sessions, newest first."""
    if (query := filters.query(caller)) is None:
        return SessionPage(items=[], next_cursor=None)

    def read(client: Client) -> SessionPage:
        page = session_page(client, query, limit=filters.limit, after=filters.cursor)
        return SessionPage(items=[row.to_json() for row in page.items], next_cursor=page.cursor)

    return await read_list(context, read)


class QuestionPage(Answer):
    """A page of open questions, oldest first."""

    items: list[QuestionData]
    next_cursor: str | None


@router.get("/questions")
async def get_inbox(
    context: ContextDep,
    caller: Reader,
    name: Annotated[str | None, Query(max_length=200)] = None,
    cursor: Cursor | None = None,
    limit: Limit = 50,
) -> QuestionPage:
    """List the open questions of the caller's tenant, oldest first."""

    def read(client: Client) -> QuestionPage:
        items: list[Pending] = []
        after, is_first, looked_at = cursor, True, 0
        while is_first or (after is not None and len(items) < limit and looked_at < _MAX_READ):
            page = client.inbox_page(name, limit=limit - len(items), after=after)
            items += _of_tenant(client, page, caller)
            after, is_first, looked_at = page.cursor, False, looked_at + len(page.items)
        return QuestionPage(items=[QuestionData.of(question) for question in items], next_cursor=after)

    return await read_list(context, read)


def _of_tenant(client: Client, page: ResultPage[Pending], caller: Caller) -> list[Pending]:
    """Return the questions of the sessions that a caller sees."""
    if caller.tenant is None:
        return list(page.items)
    tenants: dict[str, str | None] = {}
    for session_id in {question.session_id for question in page.items}:
        try:
            job: CollabJob = client.get_job(session_id)
        except SessionNotFound:
            continue
        tenants[session_id] = job.spec.tenant
    return [question for question in page.items if caller.sees(tenants.get(question.session_id))]


class FoundData(Answer):
    """A message in a result of a search."""

    session_id: str
    title: str
    speaker: str | None
    turn_id: int | None
    at: str
    content: str

    @classmethod
    def of(cls, found: FoundMessage) -> FoundData:
        """Return the data of a found message."""
        return cls(
            session_id=found.session_id,
            title=found.title,
            speaker=found.speaker,
            turn_id=found.turn,
            at=moment_from_ms(found.at_ms).isoformat(),
            content=found.content,
        )


class FoundPage(Answer):
    """A page of found messages, newest first."""

    items: list[FoundData]
    next_cursor: str | None


@router.get("/archive/sessions")
async def search_archive(
    filters: Annotated[SearchFilters, Query()], context: ContextDep, caller: Reader
) -> FoundPage:
    """Search the messages in the archive, newest first. New messages are found after some seconds."""
    query = filters.query(caller)
    if query is not None and query.attention:
        raise InvalidInput("attention", filters.attention, "must not be given: it is of live sessions")
    reader = await context.client.archived()
    if query is None or reader is None:
        return FoundPage(items=[], next_cursor=None)
    wanted = SessionFilter(query=query)
    page = await read_list(
        context, lambda _: reader.search(filters.q, wanted, after=filters.cursor, limit=filters.limit)
    )
    return FoundPage(items=[FoundData.of(found) for found in page.items], next_cursor=page.cursor)
