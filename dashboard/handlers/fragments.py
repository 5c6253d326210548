"""Streams of fragments, and the same fragments for pages that poll. See `live/fragments.py`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from tornado.web import Application

from ...models.errors import ArchiveError, StateError
from ...models.text.redact import json_text
from ..live.fragments import Fragments, SentFragments, SentPages, View
from .base import DashboardHandler, one_of_process

#: Minimum number of seconds between two events with fragments.
INTERVAL_S = 0.25
#: Seconds after which a view is read again without a change.
TICK_S = 2.0


def sent_pages(application: Application) -> SentPages:
    """Return what the pages of this process have."""
    return one_of_process(application, SentPages, SentPages)


class Templates:
    """The templates of a page's parts. It may outlive the request of its handler.

    Args:
        handler: Any handler of the application.
        names: Names that all of them use.
    """

    def __init__(self, handler: DashboardHandler, **names: object) -> None:
        self._loader = handler.application.settings["template_loader"]
        self._names = {"base_url": handler.base_url, "allows_actions": handler.has_actions, **names}

    def render(self, template: str, /, **values: object) -> str:
        """Return a template as HTML; its path is relative to `templates/`, without `.html`."""
        text: str = self._loader.load(f"{template}.html").generate(**self._names, **values).decode()
        return text.strip()


class PolledView:
    """The view of a page whose fragments are read again and again. During an outage, they stay as they are.

    Args:
        read: Returns the fragments of this moment.
    """

    def __init__(self, read: Callable[[], Awaitable[Fragments]]) -> None:
        self._read = read
        self._newest: Fragments | None = None

    async def read(self) -> Fragments:
        """Return the fragments of this moment."""
        try:
            self._newest = await self._read()
        except (StateError, ArchiveError):
            if self._newest is None:
                raise
        return self._newest

    async def wait(self, timeout_s: float) -> None:
        """Wait until the fragments are read again."""
        await asyncio.sleep(timeout_s)


def sent_token(handler: DashboardHandler) -> str:
    """Return the token of a page. A reconnecting browser sends it in a header."""
    return handler.request.headers.get("Last-Event-ID") or handler.query_text("after")


async def send_fragments(
    handler: DashboardHandler,
    view: View,
    send: Callable[[str], Awaitable[None]],
    *,
    until: Callable[[], bool] = lambda: False,
) -> None:
    """Send what the page does not have, then each change, until a condition holds: events `fragments`."""
    pages, token = sent_pages(handler.application), sent_token(handler)
    sent = pages.get(token)
    while True:
        began = time.monotonic()
        fragments = await view.read()
        if changes := sent.changes(fragments):
            sent = SentFragments.of(fragments)
            token = pages.put(sent, replaces=token)
            await send(f"id: {token}\nevent: fragments\ndata: {json_text(changes)}\n\n")
        if until():
            return
        await view.wait(TICK_S)
        await asyncio.sleep(began + INTERVAL_S - time.monotonic())


async def poll_fragments(handler: DashboardHandler, view: View) -> dict[str, object]:
    """Return what a page that polls does not have, and its next token."""
    pages, token = sent_pages(handler.application), sent_token(handler)
    fragments: Fragments = await view.read()
    changes = pages.get(token).changes(fragments)
    if changes or not token:
        token = pages.put(SentFragments.of(fragments), replaces=token)
    return {"after": token, **changes}
