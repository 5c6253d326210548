"""The tables of batch reviews (runs, items, findings), and conversion of runs to and from rows.

Times as in `archive/tables.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, ClassVar

from pydantic import TypeAdapter
from sqlalchemy import Index, PrimaryKeyConstraint, RowMapping
from sqlmodel import Field

from ...archive.engine import storable_text
from ...archive.sessions.rows import COUNTS, Row
from ...archive.tables import METADATA, Big, Table
from ...models.text.ids import moment_from_ms, ms_from_moment
from ...models.turns.turn import Usage
from ..values.findings import Finding
from ..values.runs import Item, ItemResult, ReviewRun, SkippedItem


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
    branch: str
    #: Scope of the run, for reviews since the last one; empty: not known.
    scope: str
    #: Web address of the repository, and the root's folder in it.
    repository_url: str
    repository_folder: str
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
    #: `Item.key`; a path may be too long for an index, so queries use `cache_key`.
    item_key: str
    path: str
    kind: str
    sha256: str
    size: int = Field(sa_type=Big)
    #: Changed lines, as JSON; then the removed lines of a change, with negative numbers.
    changed: str | None = None
    #: Hash of panel, item and text: the same hash means the same findings.
    cache_key: str
    state: str
    session_id: str | None = None
    error: str
    summary: str
    #: Number of findings that were dropped.
    dropped: int = 0
    #: Files of the project that models read, with their digests, as JSON.
    reads: str = "[]"
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
    #: Participant ids, as JSON.
    agents: str
    aliases: str
    #: Other fields, as JSON: columns, why, replacement, quote, excerpt, verification,
    #: unverified, suppression, category, side.
    details: str


REVIEW_RUN = METADATA.tables["review_run"]
REVIEW_ITEM = METADATA.tables["review_item"]
FINDING = METADATA.tables["finding"]


_FINDINGS = TypeAdapter(tuple[Finding, ...])
_SKIPPED = TypeAdapter(tuple[SkippedItem, ...])
_DETAILS = frozenset(
    {"start_column", "end_column", "why", "replacement", "quote", "excerpt", "verification", "suppression"}
    | {"category", "side", "unverified"}
)
#: Fields of a run that are columns: free text, and text of a fixed form.
_RUN_TEXTS = ("root_name", "panel", "branch", "repository_folder", "summary")
_RUN_PLAIN = ("panel_sha", "revision", "scope", "repository_url")
_PLAIN = ("start_line", "end_line", "severity", "confidence", "snippet_sha")


def cache_key(panel_sha: str, item: Item) -> str:
    """Return a hash of all that findings depend on: panel, item, text, lines, settings, facts, what models see."""
    identity: tuple[object, ...] = (
        *(panel_sha, item.key, item.kind.value, item.sha256),
        *(item.changed, item.settings_sha, item.shown),
    )
    if item.facts is not None:
        identity = (*identity, item.facts.model_dump(mode="json"))
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


def run_row(run: ReviewRun) -> Row:
    """Return a run as columns of `review_run`."""
    return {
        "run_id": run.id,
        "root": storable_text(run.root or run.root_name),
        "state": run.state.value,
        "started_ms": ms_from_moment(run.started_at),
        "ended_ms": None if run.ended_at is None else ms_from_moment(run.ended_at),
        "skipped": _SKIPPED.dump_json(run.skipped).decode(),
        **{name: storable_text(getattr(run, name)) for name in _RUN_TEXTS},
        **{name: getattr(run, name) for name in _RUN_PLAIN},
        **_counts(run.usage),
    }


def item_rows(run: ReviewRun, row: int) -> list[Row]:
    """Return the rows of a run's items, with their results."""
    return [
        {
            "run": row,
            "position": position,
            "item_key": storable_text(result.item.key),
            "path": storable_text(result.item.path),
            "kind": result.item.kind.value,
            "sha256": result.item.sha256,
            "size": result.item.size,
            "changed": _changed_json(result.item),
            "cache_key": cache_key(run.panel_sha, result.item),
            "state": result.state.value,
            "session_id": result.session_id,
            "error": storable_text(result.error),
            "summary": storable_text(result.summary),
            "dropped": result.dropped,
            "reads": json.dumps(result.reads, ensure_ascii=True),
            "findings": _FINDINGS.dump_json(result.findings).decode(),
            **_counts(result.usage),
        }
        for position, result in enumerate(run.results)
    ]


def finding_rows(run: ReviewRun, row: int) -> list[Row]:
    """Return the rows of a run's merged findings."""
    return [_finding_row(finding, row, position) for position, finding in enumerate(run.findings)]


def run_from_rows(row: RowMapping, items: Iterable[RowMapping], findings: Iterable[RowMapping]) -> ReviewRun:
    """Return the run of these rows."""
    return ReviewRun(
        id=row["run_id"],
        root="" if row["root"] == row["root_name"] else row["root"],
        state=row["state"],
        started_at=moment_from_ms(row["started_ms"]),
        ended_at=None if row["ended_ms"] is None else moment_from_ms(row["ended_ms"]),
        skipped=_SKIPPED.validate_json(row["skipped"]),
        **{name: row[name] for name in (*_RUN_TEXTS, *_RUN_PLAIN)},
        usage=_usage(row),
        results=tuple(map(_result, items)),
        findings=tuple(map(_finding, findings)),
    )


def parse_findings(text: str) -> tuple[Finding, ...]:
    """Return the findings in an item's column `findings`."""
    return _FINDINGS.validate_json(text)


def parse_reads(text: str) -> tuple[tuple[str, str], ...]:
    """Return the files in an item's column `reads`."""
    return tuple((path, digest) for path, digest in json.loads(text))


def _finding_row(finding: Finding, row: int, position: int) -> Row:
    return {
        "run": row,
        "position": position,
        "fingerprint": finding.fingerprint,
        "status": finding.status and finding.status.value,
        **{name: storable_text(getattr(finding, name)) for name in ("path", "rule", "message", "suggestion")},
        **{name: getattr(finding, name) for name in _PLAIN},
        "agents": json.dumps(finding.agents, ensure_ascii=True),
        "aliases": json.dumps(finding.aliases, ensure_ascii=True),
        "details": finding.model_dump_json(include=set(_DETAILS), exclude_defaults=True),
    }


def _finding(row: RowMapping) -> Finding:
    texts = {name: row[name] for name in ("path", "rule", "message", "suggestion", "status", *_PLAIN)}
    return Finding(
        **texts,
        **json.loads(row["details"]),
        agents=tuple(json.loads(row["agents"])),
        aliases=tuple(json.loads(row["aliases"])),
    )


def _result(row: RowMapping) -> ItemResult:
    return ItemResult(
        item=Item(
            key=row["item_key"],
            kind=row["kind"],
            path=row["path"],
            sha256=row["sha256"],
            size=row["size"],
            **_line_ranges(row["changed"]),
        ),
        state=row["state"],
        session_id=row["session_id"],
        error=row["error"],
        summary=row["summary"],
        dropped=row["dropped"],
        reads=parse_reads(row["reads"]),
        findings=parse_findings(row["findings"]),
        usage=_usage(row),
    )


def _changed_json(item: Item) -> str | None:
    """Return an item's column `changed`; removed lines have negative numbers, which release 0.1.0 reads, too."""
    if item.changed is None:
        return None
    return json.dumps([*item.changed, *((-first, -last) for first, last in item.removed)])


def _line_ranges(text: str | None) -> dict[str, Any]:
    """Return the changed and the removed lines in an item's column `changed`."""
    if text is None:
        return {}
    ranges = json.loads(text)
    return {
        "changed": tuple((first, last) for first, last in ranges if first >= 0),
        "removed": tuple((-first, -last) for first, last in ranges if first < 0),
    }


def _counts(usage: Usage) -> Row:
    return {name: getattr(usage, name) for name in COUNTS}


def _usage(row: RowMapping) -> Usage:
    return Usage(**{name: row[name] for name in COUNTS})
