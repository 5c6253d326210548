"""Checks of names, values, users and rooms that can be remembered."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..errors import InvalidInput

#: Characters of a parameter's name.
MAX_NAME = 64
#: Characters of a user's or a room's id.
MAX_ID = 200
#: Levels of lists and objects in one value.
MAX_DEPTH = 16


def is_stated(value: object) -> bool:
    """Return False for `None`, `""`, `[]` and `{}`, which mean "not said"; `0` and `False` are values."""
    return value is not None and not (isinstance(value, str | list | tuple | dict) and not value)


def to_compact_json(value: object) -> str:
    """Return JSON without blanks, in the characters as they are. Raises ValueError for what JSON cannot hold."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def size_bytes(text: str) -> int:
    """Return bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def check_name(name: object) -> str:
    """Return the name of a parameter. Raises InvalidInput."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        raise InvalidInput(
            "name", name, f"must be a parameter name of at most {MAX_NAME} printable characters"
        )
    return name


def check_value(name: str, value: object) -> None:
    """Refuse what cannot be kept as JSON, by the parameter's name. Raises InvalidInput."""
    if nesting_depth(value, MAX_DEPTH) > MAX_DEPTH:
        raise InvalidInput(name, value, f"must not nest deeper than {MAX_DEPTH} levels")
    try:
        to_compact_json(value).encode()
    except (TypeError, ValueError):
        raise InvalidInput(name, value, "must be valid JSON in UTF-8") from None


def user_key(user_id: object, *, field: str = "user_id") -> str | None:
    """Return the user as part of a key: the id as text; None: no user.

    A colon is refused: user `a:b` in room `c` must not share a key with user `a` in room `b:c`.
    Raises InvalidInput.
    """
    text = _id_text(field, user_id)
    if text is not None and any(mark in text for mark in ":{}"):
        raise InvalidInput(field, text, "must not contain `:`, `{` or `}`")
    return text


def room_key(room_id: object, *, field: str = "room_id") -> str | None:
    """Return the room as part of a key; None: no room. Raises InvalidInput."""
    return _id_text(field, room_id)


def _id_text(field: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    match value:
        case str():
            text = value
        # Python refuses to print a number of thousands of digits.
        case int() if not isinstance(value, bool) and abs(value) < 10**MAX_ID:
            text = str(value)
        case _:
            text = ""
    if not 0 < len(text) <= MAX_ID or not text.isprintable():
        rule = f"must be a number, or text of at most {MAX_ID} printable characters"
        raise InvalidInput(field, value, rule)
    return text


def nesting_depth(value: object, limit: int) -> int:
    """Return levels of a value; one that is deeper than `limit` counts as one more."""
    if limit < 0 or not isinstance(value, Mapping | list | tuple):
        return 0
    parts = value.values() if isinstance(value, Mapping) else value
    return 1 + max((nesting_depth(part, limit - 1) for part in parts), default=0)
