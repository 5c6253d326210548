"""How a value appears in an error message: on one line, short, and never a secret."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import Enum

#: Characters of a value's repr that a message shows.
MAX_SHOWN = 80

HIDDEN = "***"
_SECRET_FIELD = re.compile(
    r"passw(or)?d|secret|api_?key|credential|private_?key|authorization", re.IGNORECASE
)
# Greedy up to the last `@`: a password may hold any character, and hiding too much is the safe side.
_URL_PASSWORD = re.compile(r"(?P<user>://[^/@\s:]*:)\S+@")


class Absent(Enum):
    """The value of a field that is not there."""

    ABSENT = "nothing"


ABSENT = Absent.ABSENT


def without_password(text: str) -> str:
    """`text` with the password of every URL in it replaced by `***`."""
    return _URL_PASSWORD.sub(rf"\g<user>{HIDDEN}@", text)


def shown(value: object, *, field: str = "") -> str:
    """`value` for a message about `field`.

    Scalars are shown as their repr. Of a mapping or a collection only the size is told, of
    anything else only the type: what they hold may be long, or secret, or fail to print.
    """
    if _SECRET_FIELD.search(field):
        return HIDDEN
    if value is ABSENT:
        return ABSENT.value
    plain = value.value if isinstance(value, Enum) else value
    return _described(plain)


def _described(value: object) -> str:
    match value:
        case str() | bytes():
            return _cut(value)
        case None | bool() | float():
            return repr(value)
        case int():
            return repr(value) if abs(value) < 10**MAX_SHOWN else "a very large integer"
        case Mapping():
            return f"a mapping of {len(value)}" if value else "{}"
        case Collection():
            return f"a {type(value).__name__} of {len(value)}" if value else "[]"
        case _:
            return f"a {type(value).__name__}"


def _cut(value: str | bytes) -> str:
    head = value[:4096]
    text = repr(without_password(head) if isinstance(head, str) else head)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."
