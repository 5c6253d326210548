"""Streams of fragments, and the same fragments for pages that poll. See `live/fragments.py`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from tornado.web import Application

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


def render_fragment(handler: DashboardHandler, name: str, **values: object) -> str:
    """Return a template in `templates/fragments/` as HTML."""
    template = handler.application.settings["template_loader"].load(f"fragments/{name}.html")
    text: str = template.generate(
        base_url=handler.base_url, allows_actions=handler.allows_actions, **values
    ).decode()
    return text.strip()


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
