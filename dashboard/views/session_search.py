"""One answer over the sessions in memory and those of the archive: rows of a page, counts, and groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from ...jobs.archived import state_of
from ...jobs.last_error import LastError
from ...jobs.session_groups import count_by_group
from ...models.errors import ArchiveError
from ...models.sessions.grouping import SessionGroup
from ...models.sessions.query import ATTENTIONS, SessionQuery, attention_name, sort_value
from ...models.sessions.query_words import older_unfinished, time_in_words
from ...models.sessions.shown_status import ShownStatus
from ...models.text.words import count_of
from .collab_row import CollabFacts, CollabRow, build_row

if TYPE_CHECKING:
    from ...archive.results import ListedSession
    from ...archive.sessions.reader import ArchiveReader
    from ...archive.sessions.search import SessionSearch, SortedSession, TurnFailure
    from ...client.aio.client import AsyncClient


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Covers:
    """What the counts and rows of a page cover."""

    #: Such as `opened in the last 7 days, live and archived`.
    text: str
    #: Number of sessions opened before that time that have not ended and fit the other filters.
    older_unfinished: int = 0
    #: Parameters of the list with them.
    older_params: Mapping[str, str] | None = None
    #: The archive does not answer: only sessions in memory are counted.
    is_partial: bool = False

    @property
    def older_text(self) -> str:
        """Return the second number in words, such as `4 older sessions are still active`; empty for none."""
        count = self.older_unfinished
        return (
            f"{count_of(count, 'older session', spec=',')} {'is' if count == 1 else 'are'} still active"
            if count
            else ""
        )

    def to_json(self) -> dict[str, object]:
        """Return it as JSON data."""
        return {**asdict(self), "older_text": self.older_text}


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page of sessions."""

    rows: tuple[CollabRow, ...]
    #: Number of sessions by status as shown and by kind of attention, and `all`: of all filters but these two.
    counts: Mapping[str, int]
    covers: Covers
    #: Number of sessions that match.
    total: int
    #: Number of pages, at least one, and of this one: the last one if the query's is beyond.
    pages: int
    page: int


class _RowList(Protocol):
    def rows(self) -> list[CollabRow]: ...


class _Clock(Protocol):
    def now_ms(self) -> int: ...


class SearchServices(Protocol):
    """The part of the dashboard's services that a search uses."""

    @property
    def sessions(self) -> _RowList:
        """The sessions in memory."""

    @property
    def hub(self) -> _Clock:
        """The clock of the server."""

    @property
    def client(self) -> AsyncClient:
        """The client with the archive."""


async def search_sessions(services: SearchServices, query: SessionQuery) -> SearchPage:
    """Return a page of the sessions that match, live and archived.

    If the archive does not answer, the page has the sessions in memory, and `covers` says so.
    """
    return await _ask(services, partial(build_page, query=query))


async def group_sessions(services: SearchServices, query: SessionQuery) -> tuple[list[SessionGroup], Covers]:
    """Return the groups of the sessions that match, by `query.group`, and what they cover."""
    return await _ask(services, partial(build_groups, query=query))


async def _ask(services: SearchServices, build: Callable[..., T]) -> T:
    rows, now_ms = services.sessions.rows(), services.hub.now_ms()
    try:
        reader = await services.client.archived()
        return await services.client.run(build, rows, reader, now_ms=now_ms)
    except ArchiveError:
        return build(rows, None, now_ms=now_ms, is_partial=True)


def build_page(
    live: Sequence[CollabRow],
    reader: ArchiveReader | None,
    *,
    query: SessionQuery,
    now_ms: int,
    is_partial: bool = False,
) -> SearchPage:
    """Return a page of sessions.

    Args:
        live: The sessions in memory.
        reader: The archive; None: there is none.
        query: The query.
        now_ms: Time from which ages count, in milliseconds since the epoch.
        is_partial: The archive does not answer.

    Raises:
        ArchiveUnavailable: The archive does not answer.
    """
    fitting = [row for row in live if query.fits(row, now_ms=now_ms)]
    search = _archived(live, reader, query, now_ms)
    counts = dict.fromkeys(("all", *ShownStatus, *ATTENTIONS), 0)
    for row in fitting:
        counts[row["shown"]] += 1
        if kind := attention_name(row["attention"]):
            counts[kind] += 1
    archived_counts = {} if search is None else search.counts()
    for status, count in archived_counts.items():
        counts[status] = counts.get(status, 0) + count
    counts["all"] = len(fitting) + sum(archived_counts.values())

    matching = [row for row in fitting if query.has_status(row)]
    total = len(matching)
    if search is not None and not query.attention:
        total += sum(
            count for name, count in archived_counts.items() if not query.status or name in query.status
        )
    pages = max(1, -(-total // query.per_page))
    page = min(query.page, pages)
    rows = _page_rows(matching, search, replace(query, page=page), now_ms)
    return SearchPage(
        tuple(rows), counts, _covers(live, reader, query, now_ms, is_partial=is_partial), total, pages, page
    )


def build_groups(
    live: Sequence[CollabRow],
    reader: ArchiveReader | None,
    *,
    query: SessionQuery,
    now_ms: int,
    is_partial: bool = False,
) -> tuple[list[SessionGroup], Covers]:
    """Return the groups of the sessions that match; arguments and errors as of `build_page`."""
    groups = count_by_group(live, reader, query=query, now_ms=now_ms)
    return groups, _covers(live, reader, query, now_ms, is_partial=is_partial)


def _archived(
    live: Sequence[CollabRow], reader: ArchiveReader | None, query: SessionQuery, now_ms: int
) -> SessionSearch | None:
    if reader is None:
        return None
    return reader.search_sessions(query, now_ms=now_ms, without={row["id"] for row in live})


def _page_rows(
    matching: Sequence[CollabRow], search: SessionSearch | None, query: SessionQuery, now_ms: int
) -> list[CollabRow]:
    """Return the rows of a page of both lists together.

    A row of the archive is at most as many places further in both lists together as there are rows in memory.
    """
    key = partial(sort_value, query=query, now_ms=now_ms)
    start = (query.page - 1) * query.per_page
    skipped = max(0, start - len(matching))
    found: list[SortedSession] = []
    if search is not None and not query.attention:
        found = search.keys(offset=skipped, limit=query.per_page + len(matching))
    both = [(key(row), row) for row in matching] + [(session.key, session) for session in found]
    both.sort(key=lambda pair: pair[0], reverse=query.is_descending)
    chosen = [item for _, item in both[start - skipped : start - skipped + query.per_page]]
    numbers = [item.row for item in chosen if not isinstance(item, dict)]
    sessions = {} if search is None else search.sessions(numbers)
    failures = {} if search is None else search.failures(numbers)
    rows = []
    for item in chosen:
        if isinstance(item, dict):
            rows.append(item)
        elif item.row in sessions:  # it may be deleted meanwhile
            rows.append(archived_row(sessions[item.row], failures.get(item.row)))
    return rows


def archived_row(session: ListedSession, failure: TurnFailure | None = None) -> CollabRow:
    """Return the row of an archived session.

    Args:
        session: The session.
        failure: Its newest failed turn, which is shown if the session failed.
    """
    state = state_of(session.session_id, {**session.fields, "opened_ms": str(session.opened_ms)}, {})
    facts = CollabFacts.read_archived(session.session_id, session.documents.collab, session.documents.spec)
    error = None
    if failure is not None:
        error = LastError(
            at_ms=failure.at_ms, turn=failure.turn, participant=failure.participant, text=failure.text
        )
    return build_row(state, facts, position=f"{state.updated_ms}-0", last_error=error, archived=True)


def _covers(
    live: Sequence[CollabRow],
    reader: ArchiveReader | None,
    query: SessionQuery,
    now_ms: int,
    *,
    is_partial: bool,
) -> Covers:
    since, _ = query.opened_between(now_ms)
    where = "live and archived"
    if is_partial:
        where = "live only, because the archive does not answer"
    elif reader is None:
        where = "live and recently ended, without an archive"
    text = f"{time_in_words(query)}, {where}"
    if since is None:
        return Covers(text, is_partial=is_partial)
    older = older_unfinished(query)
    count = sum(older.matches(row, now_ms=now_ms) for row in live)
    return Covers(text, count, older.to_params() if count else None, is_partial=is_partial)
