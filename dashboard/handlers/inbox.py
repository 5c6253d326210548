"""The inbox: the open questions of all sessions, and their answers."""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue
from tornado.web import url

from ..views.questions import MAX_QUESTIONS, build_question_page
from .base import ActionHandler, DataHandler, PageHandler
from .session_actions import answer_question, read_text


def inbox_routes() -> list[Any]:
    """Return the routes of the inbox."""
    return [
        url(r"/inbox", InboxPage, name="inbox"),
        url(r"/api/inbox", InboxData, name="api_inbox"),
        url(r"/api/inbox/reply", ReplyAction, name="api_inbox_reply"),
    ]


class InboxPage(PageHandler):
    """The inbox."""

    async def get(self) -> None:
        """Send the page."""
        self.render_page("inbox.html", title="Inbox", tab="inbox", script="inbox.js")


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
        job = await self.services.client.get_job(session)
        question = await answer_question(job, wanted, name=name, text=text, actor=self.actor)
        return {"session": session, "turn": question.turn_number, "participant": name}


_FIELDS = ("session", "question", "participant", "text")
