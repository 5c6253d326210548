"""Versions of the formats in which sessions, batch reviews and schedules are stored.

A version is written when the thing is created; without one it is 1. Raise a version if earlier releases would misread
what this one writes: their workers then leave it to newer ones.
"""

from __future__ import annotations

from typing import Literal

from ...models.errors import NewerFormat

Kind = Literal["session", "review", "schedule"]
#: Newest version that this release reads, and the one that it writes.
FORMATS: dict[Kind, int] = {"session": 1, "review": 1, "schedule": 1}


def check_format(kind: Kind, name: str, version: str | None) -> None:
    """Check that this release can read a session, batch review or schedule.

    Args:
        kind: What it is.
        name: Its id or name.
        version: Stored version of its format; None: it has none.

    Raises:
        NewerFormat: Its version is above the one that this release reads.
    """
    if version is not None and version.isdecimal() and int(version) > FORMATS[kind]:
        raise NewerFormat(kind, name, written=int(version), newest=FORMATS[kind])
