"""Routes of the session page."""

from __future__ import annotations

from typing import Any

from tornado.web import url

from .session import (
    EventsData,
    MemoryData,
    MessageData,
    MessagesData,
    SessionData,
    SessionExport,
    SessionPage,
    TimelineData,
)
from .session_actions import ACTIONS, SessionAction
from .session_stream import SessionChanges, SessionStream


def session_handlers(session_id: str) -> list[Any]:
    """Return the routes.

    Args:
        session_id: Regular expression of the id, with one group.
    """
    page, api = f"/collabs/{session_id}", f"/api/collabs/{session_id}"
    return [
        url(page, SessionPage, name="collab"),
        url(api, SessionData),
        url(f"{api}/messages", MessagesData),
        url(f"{api}/messages/([0-9-]+)", MessageData),
        url(f"{api}/timeline", TimelineData),
        url(f"{api}/events", EventsData),
        url(f"{api}/memory", MemoryData),
        url(f"{api}/export/([a-z-]+)", SessionExport),
        url(f"{api}/changes", SessionChanges),
        url(f"{api}/stream", SessionStream),
        url(f"{api}/({'|'.join(ACTIONS)})", SessionAction),
    ]
