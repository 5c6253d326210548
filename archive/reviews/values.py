"""What the archive answers about review runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...models.review.findings import Finding


class Known(NamedTuple):
    """What a panel said of an item before."""

    findings: tuple[Finding, ...]
    summary: str
    session_id: str | None


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A review run as the archive lists it."""

    run_id: str
    root_name: str
    panel: str
    #: One of `RunState`.
    state: str
    started_ms: int
    ended_ms: int | None
    #: How many items are in each state, and how many findings have each status.
    items: Mapping[str, int]
    findings: Mapping[str, int]
    tokens: int
    cost_micros: int
