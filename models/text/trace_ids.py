"""Ids of traces and spans, derived from the session: no message has to carry them.

A trace has the session's id without hyphens as its id. A span of a session or of an attempt has the last 16
digits of a derived UUID, so that the same span also has an id in the protocol's form (`Collab.trace`).
"""

from __future__ import annotations

from .ids import derived_id


def trace_id(session_id: str) -> str:
    """Return the id of a session's trace: 32 hexadecimal digits."""
    return session_id.replace("-", "")


def session_span_uuid(session_id: str) -> str:
    """Return the id of a session's span in the protocol's form."""
    return derived_id(f"{session_id}:session")


def session_span_id(session_id: str) -> str:
    """Return the id of a session's span: 16 hexadecimal digits."""
    return _span_id(session_span_uuid(session_id))


def attempt_span_id(session_id: str, turn: int, attempt: int) -> str:
    """Return the id of the span of one attempt of a turn: 16 hexadecimal digits."""
    return _span_id(derived_id(f"{session_id}:{turn}:{attempt}"))


def _span_id(uuid: str) -> str:
    # The variant bits of a UUID are in this half, so it is never zero, which no span id may be.
    return uuid.replace("-", "")[16:]
