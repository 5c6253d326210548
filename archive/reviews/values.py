"""Results of queries about review runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...models.review.findings import Finding


class CachedResult(NamedTuple):
    """An earlier result of a panel for an item."""

    findings: tuple[Finding, ...]
    summary: str
    session_id: str | None


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A review run in a listing of the archive."""

    run_id: str
    root_name: str
    panel: str
    #: One of `RunState`.
    state: str
    started_ms: int
    ended_ms: int | None
    #: Number of items by state, and number of findings by status.
    items: Mapping[str, int]
    findings: Mapping[str, int]
    tokens: int
    cost_micros: int
