"""A `SessionQuery` in SQL: the conditions on `collab`, the status as shown, and the order.

`SessionQuery.matches` is the same filter for sessions in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, or_, select

from ...models.protocol.collab import CollabStatus
from ...models.sessions.query import SessionQuery
from ...models.sessions.shown_status import FAILURE_REASONS, LIMIT_REASONS, ShownStatus
from ..tables import AGENT, COLLAB, DIALOG, PARTICIPANT, TAG

_STATUS, _REASON = COLLAB.c.status, COLLAB.c.reason
_CANCELLED, _COMPLETED = CollabStatus.CANCELLED.value, CollabStatus.COMPLETED.value
HAS_FAILED: ColumnElement[bool] = and_(_STATUS == _CANCELLED, _REASON.in_(sorted(FAILURE_REASONS)))
#: The status as `shown_status` returns it.
SHOWN: ColumnElement[str] = case(
    (HAS_FAILED, ShownStatus.FAILED.value),
    (
        and_(_STATUS.in_((_CANCELLED, _COMPLETED)), _REASON.in_(sorted(LIMIT_REASONS))),
        ShownStatus.LIMIT.value,
    ),
    else_=_STATUS,
)
_DURATION = func.coalesce(COLLAB.c.ended_ms, COLLAB.c.updated_ms) - COLLAB.c.opened_ms
_ORDERS: dict[str, ColumnElement[Any]] = {
    "activity": COLLAB.c.updated_ms,
    "opened": COLLAB.c.opened_ms,
    "cost": COLLAB.c.cost_micros,
    "tokens": COLLAB.c.input_tokens + COLLAB.c.output_tokens,
    "duration": case((_DURATION > 0, _DURATION), else_=0),
    "title": func.lower(COLLAB.c.title),
    "turns": COLLAB.c.closed,
    "mode": COLLAB.c.mode,
    "status": SHOWN,
}
_TEXT_ORDERS = ("title", "mode", "status")


class SessionConditions:
    """Conditions of a query in one dialect.

    Args:
        query: The query.
        now_ms: Time from which ages count, in milliseconds since the epoch.
        dialect: `sqlite` or `postgresql`.
    """

    def __init__(self, query: SessionQuery, *, now_ms: int, dialect: str) -> None:
        self._query = query
        self._now_ms = now_ms
        self._is_sqlite = dialect == "sqlite"

    def filters(self) -> Iterator[ColumnElement[bool]]:
        """Yield the conditions but that of the status."""
        query = self._query
        since, until = query.opened_between(self._now_ms)
        columns = (COLLAB.c.mode, query.mode), (COLLAB.c.tenant, query.tenant), (COLLAB.c.user_id, query.user)
        yield from (column == value for column, value in columns if value)
        if since is not None:
            yield COLLAB.c.opened_ms >= since
        if until is not None:
            yield COLLAB.c.opened_ms < until
        if query.cost_min:
            yield COLLAB.c.cost_micros >= query.cost_min
        texts = (
            (query.tag, _has_tag),
            (query.thread.lower(), _has_thread),
            (query.error, _has_error),
            (query.agent, _takes_part),
            (query.q, _has_text),
        )
        yield from (condition(text) for text, condition in texts if text)

    def has_status(self) -> Iterator[ColumnElement[bool]]:
        """Yield the condition of the status."""
        if self._query.status:
            yield SHOWN.in_(self._query.status)

    def order(self) -> ColumnElement[Any]:
        """Return the value by which sessions are sorted."""
        value = _ORDERS[self._query.sort_key]
        return self.exact(value) if self._query.sort_key in _TEXT_ORDERS else value

    def exact(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a text that is sorted by its characters, as Python sorts texts; SQLite does so itself."""
        return text if self._is_sqlite else text.collate("C")


def _takes_part(name: str) -> ColumnElement[bool]:
    mine = PARTICIPANT.c.participant_id == name
    return or_(COLLAB.c.id.in_(select(PARTICIPANT.c.session).where(mine)), _has_agent(name))


def _has_agent(name: str) -> ColumnElement[bool]:
    """Return the condition that an agent takes part, by its whole name."""
    return COLLAB.c.id.in_(select(AGENT.c.session).where(AGENT.c.agent == name))


def _has_text(text: str) -> ColumnElement[bool]:
    names = or_(*map(partial(_is_name, text), (PARTICIPANT.c.participant_id, PARTICIPANT.c.display_name)))
    return or_(
        COLLAB.c.title.icontains(text, autoescape=True),
        COLLAB.c.collab_id.startswith(text.lower(), autoescape=True),
        is_in_thread(text.lower()),
        _has_error(text),
        COLLAB.c.id.in_(select(PARTICIPANT.c.session).where(names)),
        _has_agent(text),
    )


def _is_name(text: str, column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that a name contains a text: it is compared once for each name, not for each participant."""
    # `OFFSET` keeps databases from moving the comparison into the inner query.
    names = select(column.label("name")).distinct().offset(0).subquery()
    return column.in_(select(names.c.name).where(names.c.name.icontains(text, autoescape=True)))


def is_in_thread(thread_id: str) -> ColumnElement[bool]:
    """Return the condition that a session has this thread id."""
    return COLLAB.c.id.in_(select(DIALOG.c.session).where(DIALOG.c.thread_id == thread_id))


def _has_tag(tag: str) -> ColumnElement[bool]:
    return COLLAB.c.id.in_(select(TAG.c.session).where(TAG.c.tag == tag))


def _has_thread(thread_id: str) -> ColumnElement[bool]:
    return or_(COLLAB.c.collab_id == thread_id, is_in_thread(thread_id))


def _has_error(text: str) -> ColumnElement[bool]:
    return and_(HAS_FAILED, COLLAB.c.detail.icontains(text, autoescape=True))
