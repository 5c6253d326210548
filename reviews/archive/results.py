"""Results of queries about reviews. Imports no SQL library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..values.findings import Finding


class CachedResult(NamedTuple):
    """An earlier result of a panel for an item."""

    findings: tuple[Finding, ...]
    summary: str
    session_id: str | None
    #: Files that models read, with their digests.
    reads: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """Findings of one review run, in the trend of its root."""

    run_id: str
    root_name: str
    panel: str
    branch: str
    revision: str
    #: One of `RunState`.
    state: str
    started_ms: int
    #: Number of open findings by severity, the most severe first.
    findings: Mapping[str, int]
    new: int
    gone: int
    suppressed: int


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
