"""One answer over the sessions in memory and those of the archive: rows of a page, counts, and groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from ...jobs.archived import state_of
from ...jobs.last_error import LastError
from ...models.errors import ArchiveError
from ...models.sessions.grouping import AgentCosts, SessionGroup, add_up
from ...models.sessions.query import ATTENTIONS, SessionQuery
from ...models.sessions.query_words import cost_in_words, time_in_words
from ...models.sessions.shown_status import ShownStatus
from ...models.text.words import count_of
from .collab_row import CollabFacts, CollabRow, build_row
from .matching_rows import MatchingRows

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
        """Return the second number in words, such as `4 older sessions have not ended`; empty for none."""
        count = self.older_unfinished
        return (
            f"{count_of(count, 'older session', spec=',')} {'has' if count == 1 else 'have'} not ended"
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
    matching = MatchingRows(query, live, now_ms=now_ms)
    part = ArchivedPart.read(reader, matching, {row["id"] for row in live})
    return show_page(matching, part, now_ms=now_ms, is_partial=is_partial)


def build_groups(
    live: Sequence[CollabRow],
    reader: ArchiveReader | None,
    *,
    query: SessionQuery,
    now_ms: int,
    is_partial: bool = False,
) -> tuple[list[SessionGroup], Covers]:
    """Return the groups of the sessions that match, by `query.group`; arguments and errors as of `build_page`."""
    matching = MatchingRows(query, live, now_ms=now_ms)
    part = ArchivedPart.read(reader, matching, {row["id"] for row in live})
    return show_groups(matching, part), show_covers(matching, part, is_partial=is_partial)


class _Window(NamedTuple):
    """The rows of a page in both lists together."""

    total: int
    pages: int
    page: int
    #: Number of archived rows that are certainly before the page: a row of the archive is at most as many places further
    #: in both lists together as there are rows in memory.
    skipped: int
    #: Number of rows after them that are before the page.
    before: int


class ArchivedPart:
    """What the archive adds to the pages of a query, as of one moment. `read` and `load` block.

    Args:
        search: The search of the query; None: there is no archive.
        counts: Number of sessions by status as shown.
        start: Number of sessions before the first one of `keys`.
        keys: Sessions in the order of the query.
        is_last: There are no sessions after `keys`.
        groups: Groups of the query.
        agent_costs: Costs of the agents of sessions in memory, if the query groups by agent.
    """

    def __init__(
        self,
        search: SessionSearch | None = None,
        counts: Mapping[str, int] | None = None,
        *,
        start: int = 0,
        keys: Sequence[SortedSession] = (),
        is_last: bool = True,
        groups: Sequence[SessionGroup] = (),
        agent_costs: AgentCosts | None = None,
    ) -> None:
        self._search = search
        self.counts = counts or {}
        self._start = start
        self._keys = keys
        self._is_last = is_last
        self.groups = groups
        self.agent_costs = agent_costs or {}
        #: Row in the archive -> row of the page; None: it was deleted meanwhile.
        self._rows: dict[int, CollabRow | None] = {}

    @classmethod
    def read(
        cls, reader: ArchiveReader | None, matching: MatchingRows, without: Collection[str]
    ) -> ArchivedPart:
        """Return the part for a query and the rows in memory that fit it, with the sessions of its page or its groups.

        Args:
            reader: The archive; None: there is none.
            matching: The rows in memory.
            without: Ids of all sessions in memory.

        Raises:
            ArchiveUnavailable: The archive does not answer.
        """
        if reader is None:
            return cls()
        query = matching.query
        search = reader.search_sessions(query, now_ms=matching.now_ms, without=without)
        counts = search.counts()
        if query.group:
            groups = () if query.attention else search.groups()
            return cls(search, counts, groups=groups, agent_costs=search.agent_costs(without))
        if query.attention:
            return cls(search, counts)
        window = _window(matching, counts)
        # More than now: rows in memory change, and with them the place of the page.
        start = max(0, window.skipped - query.per_page)
        limit = query.per_page if query.page == 1 else window.before + 3 * query.per_page
        keys = search.keys(offset=start, limit=limit)
        is_last = query.page == 1 or len(keys) < limit
        part = cls(search, counts, start=start, keys=keys, is_last=is_last)
        part.load(part.missing(matching, matching.now_ms))
        return part

    @property
    def is_archive(self) -> bool:
        """Return whether there is an archive."""
        return self._search is not None

    def has_page(self, matching: MatchingRows) -> bool:
        """Return whether it has all archived sessions of a page."""
        window = _window(matching, self.counts)
        end = window.skipped + window.before + matching.query.per_page
        return self._start <= window.skipped and (self._is_last or end <= self._start + len(self._keys))

    def chosen(self, matching: MatchingRows, now_ms: int) -> list[CollabRow | SortedSession]:
        """Return the sessions of the page in both lists together."""
        window = _window(matching, self.counts)
        both: list[tuple[object, CollabRow | SortedSession]] = [*matching.keyed(now_ms)]
        both += [(session.key, session) for session in self._keys[max(0, window.skipped - self._start) :]]
        both.sort(key=lambda pair: pair[0], reverse=matching.query.is_descending)  # type: ignore[arg-type,return-value]
        return [item for _, item in both[window.before : window.before + matching.query.per_page]]

    def missing(self, matching: MatchingRows, now_ms: int) -> list[int]:
        """Return the archived sessions of the page that are not loaded, by their rows."""
        chosen = self.chosen(matching, now_ms)
        return [item.row for item in chosen if not isinstance(item, dict) and item.row not in self._rows]

    def load(self, rows: Sequence[int]) -> None:
        """Load sessions."""
        if self._search is None or not rows:
            return
        sessions, failures = self._search.sessions(rows), self._search.failures(rows)
        for row in rows:
            session = sessions.get(row)
            self._rows[row] = None if session is None else archived_row(session, failures.get(row))

    def rows(self, matching: MatchingRows, now_ms: int) -> list[CollabRow]:
        """Return the rows of the page; those of the archive are loaded."""
        chosen = self.chosen(matching, now_ms)
        rows = [item if isinstance(item, dict) else self._rows[item.row] for item in chosen]
        return [row for row in rows if row is not None]


def _window(matching: MatchingRows, archived: Mapping[str, int]) -> _Window:
    query, total = matching.query, len(matching)
    if not query.attention:
        total += sum(count for name, count in archived.items() if not query.status or name in query.status)
    pages = max(1, -(-total // query.per_page))
    page = min(query.page, pages)
    start = (page - 1) * query.per_page
    skipped = max(0, start - len(matching))
    return _Window(total, pages, page, skipped, start - skipped)


def show_page(
    matching: MatchingRows, part: ArchivedPart, *, now_ms: int, is_partial: bool = False
) -> SearchPage:
    """Return a page of sessions.

    Args:
        matching: The sessions in memory that fit the query.
        part: The part of the archive, with the sessions of the page.
        now_ms: The time, in milliseconds since the epoch.
        is_partial: The archive does not answer.
    """
    counts = {**dict.fromkeys(("all", *map(str, ShownStatus), *ATTENTIONS), 0), **matching.counts()}
    for status, count in part.counts.items():
        counts[status] = counts.get(status, 0) + count
    counts["all"] += sum(part.counts.values())
    window, rows = _window(matching, part.counts), tuple(part.rows(matching, now_ms))
    covers = show_covers(matching, part, is_partial=is_partial)
    return SearchPage(rows, counts, covers, window.total, window.pages, window.page)


def show_groups(matching: MatchingRows, part: ArchivedPart) -> list[SessionGroup]:
    """Return the groups of the sessions that match; arguments as of `show_page`."""
    query = matching.query
    groups = [*matching.groups(part.agent_costs), *part.groups]
    return add_up(groups, by_cost=query.sort_key == "cost", of_errors=query.group == "error")


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


def show_covers(matching: MatchingRows, part: ArchivedPart, *, is_partial: bool = False) -> Covers:
    """Return what an answer covers; arguments as of `show_page`."""
    where = "live and archived"
    if is_partial:
        where = "live only, because the archive does not answer"
    elif not part.is_archive:
        where = "live and recently ended, without an archive"
    query, older = matching.query, matching.older_query
    text = f"{time_in_words(query)}, {where}{cost_in_words(query, has_archive=part.is_archive)}"
    params = older.to_params() if older is not None and matching.older else None
    return Covers(text, matching.older, params, is_partial=is_partial)
