"""The state of the data as JSON, for pages without a stream, and as events of every stream."""

from __future__ import annotations

from contextlib import suppress

from ...models.errors import RedisUnavailable
from ..services import Services
from ..views.sentences import session_notice
from .base import DashboardHandler


def health_event(services: Services, session_id: str | None) -> str:
    """Return the state as JSON, with its element.

    Args:
        services: The services.
        session_id: The session of the page; None or '': another page.
    """
    feed = services.hub.health
    if not session_id:
        return feed.event()
    row = services.sessions.get(session_id)
    if row is None:
        return feed.event()
    condition = services.hub.condition(session_id)
    notice = session_notice(row, condition, feed.judged_ms())
    return feed.event(session=notice, kind=condition.kind, ended_ms=row["ended_ms"])


class HealthData(DashboardHandler):
    """The state of the data. `session`: that of a session's page."""

    async def prepare(self) -> None:
        """Check the request as usual. If Redis has never answered, the state says so."""
        with suppress(RedisUnavailable):
            await super().prepare()

    async def get(self) -> None:
        """Send the state."""
        self.set_header("Content-Type", "application/json; charset=UTF-8")
        services: Services | None = getattr(self, "services", None)
        session_id = self.query_text("session")
        self.write(self.health.event() if services is None else health_event(services, session_id))
