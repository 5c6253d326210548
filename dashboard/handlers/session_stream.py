"""The live parts of one session's page, as server-sent events and for polling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...jobs.conditions import NO_CONDITION, Condition
from ..live.fragments import Fragments
from ..live.open_session import OpenSession, OpenSessions, ShownSession
from ..live.positions import BEGINNING
from ..views.attention import with_condition
from ..views.collab_row import CollabFacts, CollabRow, build_row
from ..views.session.params import PEOPLE_SORTS, SessionParams, Times
from ..views.session.snapshot import SessionParts
from ..views.session.transcript import Transcript, read_part
from .base import DashboardHandler, DataHandler, one_of_process
from .fragments import poll_fragments, send_fragments
from .live import OPENING, StreamHandler
from .session_html import SessionHtml

if TYPE_CHECKING:
    from ..services import Services

#: Event after which the page does not connect again.
_END_EVENT = "event: end\ndata: {}\n\n"
#: Maximum number of a turn in an address.
MAX_TURN = 10**9


def open_sessions(handler: DashboardHandler) -> OpenSessions:
    """Return the sessions whose pages are open in this process."""
    services = handler.services
    return one_of_process(
        handler.application, OpenSessions, lambda: OpenSessions(services.client, services.hub.streams)
    )


def session_html(handler: DashboardHandler) -> SessionHtml:
    """Return the renderer of this process."""
    return one_of_process(handler.application, SessionHtml, lambda: SessionHtml(handler))


def read_params(handler: DashboardHandler) -> SessionParams:
    """Return what the address asks for.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    turn = handler.query_number("turn", MAX_TURN, most=MAX_TURN)
    people = handler.query_text("people")
    params = SessionParams(
        turn=0 if turn == MAX_TURN else turn,
        before=handler.query_text("before"),
        find=handler.query_text("find").strip(),
        who=handler.query_text("who"),
        since=handler.query_text("from"),
        until=handler.query_text("to"),
        people=people if people in PEOPLE_SORTS else "",
        events=handler.query_text("events"),
        compare=handler.query_text("compare").strip(),
    )
    params.times(handler.services.hub.now_ms())  # it raises InvalidInput
    return params


def open_session_view(handler: DashboardHandler, session_id: str) -> SessionView:
    """Return the live parts of a session's page for the address of a request.

    Raises:
        InvalidInput: A value in the address breaks a rule.
    """
    return SessionView(
        handler.services, open_sessions(handler), session_html(handler), session_id, read_params(handler)
    )


class SessionView:
    """The view of one open page of a session. `read` comes first.

    Args:
        services: The services of the dashboard.
        sessions: The open sessions.
        html: The renderer.
        session_id: The whole id of the session.
        params: What the page shows.
    """

    opened: OpenSession
    row: CollabRow
    #: Whether the session has ended, and the fragments that were read last show everything of it.
    is_complete: bool

    def __init__(
        self,
        services: Services,
        sessions: OpenSessions,
        html: SessionHtml,
        session_id: str,
        params: SessionParams,
    ) -> None:
        self._services = services
        self._sessions = sessions
        self._html = html
        self._session_id = session_id
        self.params = params
        self._revision = 0

    async def read(self) -> Fragments:
        """Return the fragments of this moment."""
        self.opened = opened = await self._sessions.get(self._session_id)
        row = self._services.sessions.get(self._session_id)
        if row is not None and row["ended_ms"] is not None and not opened.parts.state.is_final:
            await opened.read(is_outdated=True)
        self._revision = opened.revision
        # Now, because the session may end while the fragments are made. The list may have the end later than the session.
        self.is_complete = opened.is_complete and (row is None or row["ended_ms"] is not None)
        self.row = row or self._build_row(opened.parts)
        children = [self._services.sessions.get(child.session_id) for child in opened.parts.children]
        times = self.params.times(self._now_ms(opened.parts))
        made_from = opened.revision, self.row, self._condition(), children, times
        before = opened.fragments.get(self.params)
        if before is not None and before[0] == made_from:
            return before[1]
        fragments = await self._services.client.run(self._render, opened.shown(), times)
        if self.params.is_live:
            opened.keep(self.params, made_from, fragments)
        return fragments

    async def wait(self, timeout_s: float) -> None:
        """Wait for a change of the session."""
        await self.opened.wait(self._revision, timeout_s)

    def _render(self, shown: ShownSession, times: Times) -> Fragments:
        transcript = self._transcript(shown, times)
        return self._html.fragments(shown, self.row, self._condition(), self.params, times, transcript)

    def _now_ms(self, parts: SessionParts) -> int:
        """Return the time from which ages count: the end of a session that has ended."""
        last_ms = self._services.hub.now_ms() if parts.is_live else parts.state.updated_ms
        return parts.state.ended_ms or last_ms

    def _transcript(self, shown: ShownSession, times: Times) -> Transcript | None:
        """Return the part of the transcript that the address asks for, which is read once; None: the newest."""
        if self.params.is_live:
            return None
        now_ms = self._services.hub.now_ms()
        is_past = self.params.before or (times.until_ms is not None and times.until_ms < now_ms)
        newest = shown.messages[-1][0] if shown.messages and not is_past else ""
        key = self.params, times, newest
        return self.opened.transcripts.get(key, lambda: read_part(self.opened.job, self.params, times))

    def _condition(self) -> Condition:
        is_final = self.opened.parts.state.is_final
        return NO_CONDITION if is_final else self._services.hub.condition(self._session_id)

    def _build_row(self, parts: SessionParts) -> CollabRow:
        """Return the row of a session that is not in memory."""
        collab, spec = parts.facts.collab.model_dump_json(), parts.facts.spec.model_dump_json()
        facts = CollabFacts.read_archived(self._session_id, collab, spec)
        row = build_row(parts.state, facts, position=BEGINNING, archived=not parts.is_live)
        return with_condition(row, self._condition())


class SessionStream(StreamHandler):
    """The fragments of a page that change, until the session has ended: events `fragments`, then `end`."""

    async def send_events(self, *parts: str) -> None:
        """Send the fragments that differ from those of the page, then each change."""
        self.session_id = parts[0]
        view = open_session_view(self, parts[0])
        await open_sessions(self).get(parts[0])  # an unknown session is not found
        await self.send(OPENING)
        await send_fragments(self, view, self.send, until=lambda: view.is_complete)
        await self.send(_END_EVENT)


class SessionChanges(DataHandler):
    """The same fragments for a page that polls."""

    async def data(self, *parts: str) -> object:
        """Return the fragments that differ from those of the page."""
        return await poll_fragments(self, open_session_view(self, parts[0]))
