"""Actions on many sessions: which sessions each of them is for. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from .query import SessionQuery
from .shown_status import ShownStatus

#: Action -> statuses of the sessions that it is for; the others stay as they are.
ACTION_STATUSES: Mapping[str, tuple[str, ...]] = {
    "cancel": (ShownStatus.DRAFT.value, ShownStatus.ACTIVE.value, ShownStatus.SUSPENDED.value),
    "suspend": (ShownStatus.ACTIVE.value,),
    "resume": (ShownStatus.SUSPENDED.value,),
    "retry": (ShownStatus.FAILED.value,),
}


def query_for(action: str, query: SessionQuery) -> SessionQuery | None:
    """Return the query of the sessions that match and that an action is for; None: there can be none."""
    statuses = tuple(
        status for status in ACTION_STATUSES[action] if not query.status or status in query.status
    )
    return query.changed(status=statuses) if statuses else None
