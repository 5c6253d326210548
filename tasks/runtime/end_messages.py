"""Messages of ended sessions with `on_end`, sent by the feature that the worker installs in its app."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..ports import EndMessages, NoEndMessages

if TYPE_CHECKING:
    from celery import Celery

_ATTRIBUTE = "symposia_end_messages"


def install_end_messages(app: Celery, provider: Callable[[], EndMessages]) -> None:
    """Set the provider of the sender of an app; it is called for each message."""
    setattr(app, _ATTRIBUTE, provider)


class AppEndMessages:
    """The sender that is installed in an app; without one the sweep of another worker sends the messages."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def send(self, session_id: str) -> None:
        """Send the message of an ended session, or leave it to the sweep."""
        provider: Callable[[], EndMessages] = getattr(self._app, _ATTRIBUTE, NoEndMessages)
        provider().send(session_id)
