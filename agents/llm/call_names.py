"""Names of finished calls in the call journal of a turn."""

from __future__ import annotations

import json
from hashlib import sha256

from opentelemetry.trace import get_current_span

#: Prefixes of call names in the journal.
REQUESTS, TOOLS = "model:", "tool:"


def fingerprint(*parts: object) -> str:
    """Return a fingerprint that is the same for the same JSON data."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return sha256(text.encode()).hexdigest()[:32]


def mark_replayed() -> None:
    """Mark the current span, if there is one: its call was answered from the journal, at no cost."""
    get_current_span().set_attribute("symposia.replayed", True)
