"""The inbox: the open questions of all sessions, and their answers."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

from pydantic import JsonValue
from tornado.web import url

from ...models.identity import Scope
from ..live.fragments import Fragments, SentFragments
from ..live.inbox import MAX_SESSIONS, OpenQuestions, read_closed
from ..views.collab_cells import time_html
from ..views.inbox_parts import TIMES, InboxParams, asked_names, inbox_tabs, read_inbox_params
from ..views.questions import MAX_QUESTIONS, OpenQuestion, Person, build_question_page, is_among
from ..views.session.bounded_cache import BoundedCache
from ..views.session.markdown import render_markdown
from .base import ActionHandler, DashboardHandler, DataHandler, PageHandler, one_of_process
from .fragments import Templates, sent_pages
from .session_actions import answer_question, read_text

#: Maximum bytes of rendered questions of this process.
_MAX_RENDERED = 4_000_000


def inbox_routes() -> list[Any]:
    """Return the routes of the inbox."""
    return [
        url(r"/inbox", InboxPage, name="inbox"),
        url(r"/api/inbox", InboxData, name="api_inbox"),
        url(r"/api/inbox/reply", ReplyAction, name="api_inbox_reply"),
    ]


class InboxView:
    """The live parts of an open inbox.

    Args:
        handler: The handler of a request, whose address says which questions are shown.
    """

    def __init__(self, handler: DashboardHandler) -> None:
        self._handler = handler
        self._render = Templates(handler).render
        self._sessions = handler.services.sessions
        self._path = handler.reverse_url("inbox")
        self.params, self.notices = read_inbox_params(
            {name: handler.query_text(name) for name in ("for", "state", "since")}
        )
        services = handler.services
        self._questions = one_of_process(
            handler.application, OpenQuestions, lambda: OpenQuestions(services.hub, services.sessions)
        )
        self._rendered = one_of_process(handler.application, _RenderedQuestions, _RenderedQuestions)
        self._revision = 0

    def questions(self) -> tuple[OpenQuestion, ...]:
        """Return the open questions that the user sees."""
        questions = self._questions.read()
        if (caller := self._handler.caller).tenant is None:
            return questions
        rows = ((question, self._sessions.get(question.session_id)) for question in questions)
        return tuple(question for question, row in rows if row is not None and caller.sees(row["tenant"]))

    async def read(self) -> Fragments:
        """Return the fragments of this moment."""
        self._revision = self._sessions.revision
        questions, params = self.questions(), self.params
        wanted = [question for question in questions if question.is_for(params.person)]
        html = {
            f"question-{question.id}": self._rendered.get(question, partial(self._render_question, question))
            for question in wanted[:MAX_QUESTIONS]
        }
        order = tuple(html)
        tabs = inbox_tabs(params, questions, self._path, viewer=self._handler.user_name)
        html["tabs"] = self._render("fragments/inbox_tabs", tabs=tabs)
        html["inbox-end"] = self._render(
            "fragments/inbox_end",
            path=self._path,
            params=params,
            shown=len(order),
            total=len(wanted),
            others=len(questions) - len(wanted),
        )
        return Fragments(html, {"questions": order})

    async def wait(self, timeout_s: float) -> None:
        """Wait for a change of a session."""
        _ = await self._sessions.wait_for_change(self._revision, timeout_s=timeout_s)

    def _render_question(self, question: OpenQuestion) -> str:
        rendered = render_markdown(question.text)
        return self._render(
            "fragments/question", question=question, rendered=rendered, time_html=time_html, exact=escape
        )


class _RenderedQuestions(BoundedCache[OpenQuestion, str]):
    """HTML of questions: a question is rendered once for all pages."""

    def __init__(self) -> None:
        super().__init__(_MAX_RENDERED, lambda question, html: 2 * (len(question.text) + len(html)))


class InboxPage(PageHandler):
    """The inbox. Its address says whose questions, open or closed ones, it shows."""

    shown_scope = Scope.REPLY

    async def get(self) -> None:
        """Send the page."""
        view = InboxView(self)
        fragments, params = await view.read(), view.params
        closed = None if params.state == "open" else await self._closed(params)
        self.render_page(
            "inbox.html",
            title="Inbox",
            tab="inbox",
            script="forms.js",
            html=fragments.html,
            questions=fragments.lists["questions"],
            params=params,
            notices=view.notices,
            names=asked_names(view.questions()),
            sent=sent_pages(self.application).put(SentFragments.of(fragments)),
            closed=closed,
            times=[
                (params.href(self.reverse_url("inbox"), since=since), words, params.since == since)
                for since, words in TIMES.items()
            ],
            time_html=time_html,
            MAX_SESSIONS=MAX_SESSIONS,
        )

    async def _closed(self, params: InboxParams) -> list[dict[str, Any]]:
        """Return the closed questions of a state, with the names of people in their sessions."""
        services = self.services
        since_ms = services.hub.now_ms() - int(params.since_s * 1000)
        rows = [row for row in services.sessions.rows() if self.caller.sees(row["tenant"])]
        closed = await read_closed(services.redis, rows, since_ms=since_ms)
        shown = []
        for row, question in closed:
            people = {
                agent["participant"]: Person(agent["participant"], agent["name"], agent["role"])
                for agent in row["agents"]
            }
            asked = [people.get(name, Person(name, name)) for name in question.asked]
            by = people.get(question.by, Person(question.by, question.by))
            is_wanted = bool(question.by) == (params.state == "answered")
            if is_wanted and (not params.person or is_among(params.person, [*asked, by])):
                asker = people.get(question.participant, Person("", ""))
                names = [person.name for person in asked]
                shown.append(
                    {"row": row, "question": question, "asked": names, "by": by.name, "asker": asker.name}
                )
        return shown[:MAX_QUESTIONS]


class InboxData(DataHandler):
    """The open questions as JSON."""

    async def data(self, *_parts: str) -> object:
        """Return a page of questions, oldest first."""
        position = str(self.services.sessions.cursor)
        page = await self.services.client.inbox_page(
            self.query_text("participant") or None,
            limit=self.query_number("limit", 50, most=MAX_QUESTIONS),
            after=self.query_text("after") or None,
        )
        return build_question_page(page, position=position)


class ReplyAction(ActionHandler):
    """Answer of a question."""

    async def act(self, body: dict[str, JsonValue], *_parts: str) -> object:
        """Answer a question. The body: `session`, `question` (its id), `participant`, `text`."""
        session, wanted, name, text = (read_text(body, field) for field in _FIELDS)
        await self.check_session(session)
        job = await self.services.client.get_job(session)
        question = await answer_question(job, wanted, name=name, text=text, actor=self.actor)
        return {"session": session, "turn": question.turn_number, "participant": name}


_FIELDS = ("session", "question", "participant", "text")
