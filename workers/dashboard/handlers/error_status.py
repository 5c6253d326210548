"""HTTP status of each kind of expected error."""

from __future__ import annotations

from ....models import errors


def status_of(error: errors.SymposiaError) -> int:
    """Return the HTTP status of an error."""
    match error:
        case (
            errors.SessionNotFound()
            | errors.ReviewNotFound()
            | errors.ScheduleNotFound()
            | errors.NotAMember()
        ):
            return 404
        case errors.LifecycleError() | errors.SessionConflict() | errors.ReplyRefused():
            return 409
        case errors.InvalidInput():
            return 400
        case errors.StateError() | errors.ArchiveError() | errors.BrokerUnavailable() | errors.ClientClosed():
            return 503
        case _:
            return 422
