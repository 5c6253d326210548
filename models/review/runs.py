"""A run: one batch of items, reviewed by one panel, with the results."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from ..protocol.base import NonBlank, Text
from ..severity import Severity
from ..text.ids import Id, Timestamp
from ..turns.turn import Frozen, Usage
from .findings import Finding
from .items import Item, SkippedItem
from .verdict import summarise_findings


class ItemState(StrEnum):
    """State of an item."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    #: Its findings are those of an earlier run of the same panel over the same text.
    UNCHANGED = "unchanged"
    CANCELLED = "cancelled"


class RunState(StrEnum):
    """State of a run."""

    RUNNING = "running"
    #: Every item was reviewed.
    COMPLETED = "completed"
    #: Some items failed, or a limit was met.
    PARTIAL = "partial"
    CANCELLED = "cancelled"
    FAILED = "failed"


class ItemResult(Frozen):
    """Result of one item."""

    item: Item
    state: ItemState
    findings: tuple[Finding, ...] = ()
    #: The session that reviewed it; None: there was none (yet).
    session_id: Id | None = None
    usage: Usage = Usage()
    #: Why it failed; one line, never a secret.
    error: Annotated[Text, Field(max_length=500)] = ""
    summary: Text = ""


class ReviewRun(Frozen):
    """A batch review in the form for reports and the archive."""

    id: Id
    #: The named root, or the name of the folder, that was reviewed.
    root_name: NonBlank
    #: Identity of the root in later runs, because folders may share a name; empty: its name.
    root: Text = ""
    panel: NonBlank
    #: Changes with anything that changes what the panel would say.
    panel_sha: NonBlank
    started_at: Timestamp
    ended_at: Timestamp | None = None
    state: RunState = RunState.RUNNING
    results: tuple[ItemResult, ...] = ()
    skipped: tuple[SkippedItem, ...] = ()
    #: Merged, each with its status; what is gone since the last run is among them.
    findings: tuple[Finding, ...] = ()
    usage: Usage = Usage()
    summary: Text = ""
    #: The reviewed git revision; empty: no revision.
    revision: Text = ""

    @property
    def open_findings(self) -> tuple[Finding, ...]:
        """Those to be acted on: neither gone nor suppressed."""
        return tuple(it for it in self.findings if it.is_open)

    @property
    def verdict(self) -> str:
        """Verdict on the whole run: how many findings are open, and which to fix first."""
        is_reviewed = any(it.state in (ItemState.DONE, ItemState.UNCHANGED) for it in self.results)
        return summarise_findings(self.open_findings) or ("Nothing to fix." if is_reviewed else "")

    def has_finding_at_least(self, least: Severity) -> bool:
        """Return whether an open finding matters as much as `least`, or more."""
        return any(it.severity.at_least(least) for it in self.open_findings)
