"""The state of the data of this process, and its element, for every page, answer and stream."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tornado.template import Loader

from ...models.text.redact import json_text, without_password
from ..views.health import Health, freshness, health_json, health_notice
from ..views.notices import Notice

#: Templates of parts of a page.
_TEMPLATES = Loader(str(Path(__file__).parents[1] / "templates"))
#: Seconds between two sendings of the state on a stream.
SEND_EVERY_S = 2.0


class HealthFeed:
    """The newest state.

    Args:
        now_ms: Returns the time by the server's clock, in milliseconds since the epoch.
    """

    def __init__(self, now_ms: Callable[[], int] = lambda: int(time.time() * 1000)) -> None:
        self.now_ms = now_ms
        self.health = Health()
        #: Number of changes other than of ages.
        self.revision = 0

    def judged_ms(self) -> int:
        """Return the time of the data, up to which the condition of a session is known: now, unless Redis does not answer."""
        health = self.health
        return self.now_ms() if health.redis_away_ms is None else health.read_ms or health.redis_away_ms

    def record_read(self) -> None:
        """Record that Redis has answered."""
        if self.health.redis_away_ms is not None:
            self.revision += 1
        self.health = replace(self.health, read_ms=self.now_ms(), redis_away_ms=None, error="")

    def record_error(self, error: object) -> None:
        """Record that Redis has not answered."""
        if self.health.redis_away_ms is None:
            self.revision += 1
            since_ms = self.health.read_ms or self.now_ms()
            self.health = replace(self.health, redis_away_ms=since_ms)
        self.health = replace(self.health, error=without_password(str(error)))

    def record_workers(self, *, are_there: bool, none_since_ms: int | None, waiting: int, last: str) -> None:
        """Record whether workers run.

        Args:
            are_there: Whether any runs.
            none_since_ms: Since when none runs; None: unknown.
            waiting: Number of sessions that cannot go on without one.
            last: Name of the worker that was lost last.
        """
        health = replace(
            self.health,
            has_workers=are_there,
            no_worker_ms=none_since_ms,
            waiting=0 if are_there else waiting,
            last_worker="" if are_there else last,
        )
        self.revision += (
            health.has_workers != self.health.has_workers or health.waiting != self.health.waiting
        )
        self.health = health

    def json(self) -> str:
        """Return the state as JSON."""
        return json_text(health_json(self.health, self.now_ms()))

    def event(
        self, *, session: Notice | None = None, kind: str | None = None, ended_ms: int | None = None
    ) -> str:
        """Return the state as JSON, with its element.

        Args:
            session: What the page of a session says; None: another page.
            kind: Kind of its condition.
            ended_ms: When what the page shows has ended for good; None: it has not.
        """
        now_ms = self.now_ms()
        fresh = freshness(self.health, now_ms, ended_ms=ended_ms)
        read_ms = self.health.read_ms
        return json_text(
            {
                **health_json(self.health, now_ms),
                "level": fresh.level,
                "age_ms": 0 if read_ms is None or fresh.level == "ended" else now_ms - read_ms,
                "html": render_part(
                    "fragments/health.html", fresh=fresh, notice=health_notice(self.health, now_ms)
                ),
                "condition": kind,
                "session_html": None if session is None else render_session_notice(session),
            }
        )


def render_session_notice(notice: Notice) -> str:
    """Return the element with what a session does, or why it does not move."""
    return render_part("fragments/session_notice.html", notice=notice)


def render_part(template: str, **values: object) -> str:
    """Return a part of a page."""
    return str(_TEMPLATES.load(template).generate(**values).decode())
