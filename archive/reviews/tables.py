"""The tables of batch reviews: runs, their items and findings. Times as in `tables.py`."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import Index, PrimaryKeyConstraint
from sqlmodel import Field

from ..tables import METADATA, Big, Table


def _run() -> Any:
    return Field(foreign_key="review_run.id", ondelete="CASCADE", sa_type=Big)


class ReviewRunRow(Table, table=True):
    """A run: its root, panel and result."""

    __tablename__: ClassVar[str] = "review_run"
    __table_args__ = (Index(None, "root", "panel"), Index(None, "started_ms", "id"))

    id: int | None = Field(default=None, primary_key=True, sa_type=Big)
    run_id: str = Field(unique=True)
    root_name: str
    #: Identity of the root in later runs.
    root: str
    panel: str
    panel_sha: str
    state: str
    started_ms: int = Field(sa_type=Big)
    ended_ms: int | None = Field(default=None, sa_type=Big)
    revision: str
    summary: str
    #: Skipped items, as JSON.
    skipped: str
    input_tokens: int = Field(sa_type=Big)
    output_tokens: int = Field(sa_type=Big)
    cached_tokens: int = Field(sa_type=Big)
    requests: int = Field(sa_type=Big)
    cost_micros: int = Field(sa_type=Big)


class ReviewItemRow(Table, table=True):
    """An item of a run, with the findings of each reviewer."""

    __tablename__: ClassVar[str] = "review_item"
    __table_args__ = (PrimaryKeyConstraint("run", "position"), Index(None, "cache_key", "run"))

    run: int = _run()
    position: int
    #: `key` in items; a path may be too long for an index, so queries use `cache_key`.
    item_key: str
    path: str
    kind: str
    sha256: str
    size: int = Field(sa_type=Big)
    #: Changed lines, as JSON.
    changed: str | None = None
    #: Hash of panel, item and text: the same hash means the same findings.
    cache_key: str
    state: str
    session_id: str | None = None
    error: str
    summary: str
    #: Findings of each reviewer, not merged, as JSON.
    findings: str
    input_tokens: int = Field(sa_type=Big)
    output_tokens: int = Field(sa_type=Big)
    cached_tokens: int = Field(sa_type=Big)
    requests: int = Field(sa_type=Big)
    cost_micros: int = Field(sa_type=Big)


class FindingRow(Table, table=True):
    """A finding of a run, merged over its reviewers."""

    __tablename__: ClassVar[str] = "finding"
    __table_args__ = (PrimaryKeyConstraint("run", "position"), Index(None, "fingerprint"))

    run: int = _run()
    position: int
    fingerprint: str
    status: str | None = None
    path: str
    start_line: int
    end_line: int
    rule: str
    severity: str
    message: str
    suggestion: str
    confidence: float
    snippet_sha: str
    #: As JSON.
    agents: str
    aliases: str


REVIEW_RUN = METADATA.tables["review_run"]
REVIEW_ITEM = METADATA.tables["review_item"]
FINDING = METADATA.tables["finding"]
