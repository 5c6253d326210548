"""Versions of the formats in which sessions, batch reviews and schedules are stored.

A version is written when the thing is created; without one it is 1. Raise a version if earlier releases would misread
what this one writes: their workers then leave it to newer ones. A session that uses no newer field keeps format 1, so
that workers of earlier releases run it, too. A change that brings the first newer field raises its format.
"""

from __future__ import annotations

import json
from typing import Literal

from ...models.errors import NewerFormat

Kind = Literal["session", "review", "schedule"]
#: Newest version that this release reads, and the newest one that it writes.
FORMATS: dict[Kind, int] = {"session": 2, "review": 1, "schedule": 1}
#: Fields of a specification that release 0.1.0 (format 1) refuses. They are stored only with a value other than the
#: default. `*`: every participant.
_NEW_IN_2 = (
    "owner",
    "priority",
    "recall",
    "on_end",
    "memory.sentence",
    "options.broadcaster",
    "options.repetition",
    "agents.*.batch",
    "agents.*.description",
    "agents.*.queue",
    "agents.*.wait.escalate_to",
)
#: Their last names as they are written.
_NAMES_NEW_IN_2 = tuple(f'"{path.rpartition(".")[2]}"' for path in _NEW_IN_2)
#: The same for parked questions, as they are stored. No text can contain it, because quotes in texts are escaped.
_NEW_IN_WAITS_OF_2 = ('"escalate_to":', '"batch_checks":')


def session_format(*specs: str) -> int:
    """Return the version that a session has with these specifications, as JSON; empty ones do not count."""
    # Most specifications contain no name of such a field, not even as a value.
    documents = [json.loads(spec) for spec in specs if any(name in spec for name in _NAMES_NEW_IN_2)]
    is_new = any(_has(document, path.split(".")) for document in documents for path in _NEW_IN_2)
    return 2 if is_new else 1


def _has(value: object, path: list[str]) -> bool:
    if not path:
        return True
    if not isinstance(value, dict):
        return False
    found = value.values() if path[0] == "*" else [value[path[0]]] if path[0] in value else []
    return any(_has(item, path[1:]) for item in found)


def wait_format(wait: str) -> int:
    """Return the lowest version of a session with this parked question, as JSON."""
    return 2 if any(mark in wait for mark in _NEW_IN_WAITS_OF_2) else 1


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
