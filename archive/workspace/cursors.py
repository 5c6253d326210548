"""Cursors: the position of the end of a page, opaque to callers."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from ...models.errors import InvalidInput


def encode_cursor(*parts: int | str) -> str:
    """Return a cursor that holds these parts."""
    return urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, *kinds: type[int] | type[str]) -> list[Any]:
    """Return the parts of a cursor, of these kinds. Raises InvalidInput if the cursor is not valid."""
    try:
        parts = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if [*map(type, parts)] != [*kinds] or any(type(it) is int and not 0 <= it < 2**63 for it in parts):
            raise ValueError
    except (ValueError, TypeError, AttributeError):
        raise InvalidInput("cursor", cursor, "must be a cursor from a previous page") from None
    return list(parts)
