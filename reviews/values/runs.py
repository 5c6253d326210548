"""A run: one batch of items, reviewed by one panel, with the results.

Also its one-line summary, its row in lists and trends, and the delivery of its report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from ...models.protocol.base import NonBlank, Text
from ...models.severity import Severity
from ...models.text.ids import Id, ResourceName, Timestamp
from ...models.text.numbered_lines import format_ranges
from ...models.text.paths import MAX_PATH
from ...models.text.redact import one_line
from ...models.text.words import count_of
from ...models.turns.frozen import Frozen
from ...models.turns.turn import Usage
from .changes import Hunk
from .documents.facts import RepositoryFacts
from .findings import Finding, FindingStatus, format_counts, summarise_findings


class ItemKind(StrEnum):
    """Kind of an item."""

    FILE = "file"
    #: A file with the lines that changed.
    CHANGE = "change"
    #: The same of a file that was renamed.
    RENAMED = "renamed"
    #: A file that was deleted, with the text that it had.
    DELETED = "deleted"
    DOCUMENT = "document"
    #: An archived session, as its transcript.
    SESSION = "session"


class PartReaders(StrEnum):
    """Readers of a part of an item."""

    #: The programs of the panel, which read the whole item.
    PROGRAMS = "programs"
    #: The models of the panel, which read some of its lines.
    MODELS = "models"


class ItemPart(Frozen):
    """One of several sessions that review an item together."""

    #: From 1.
    number: Annotated[int, Field(ge=1)]
    count: Annotated[int, Field(ge=1)]
    readers: PartReaders
    #: Reviewed lines, first and last of each range included; empty: all.
    lines: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        lines = f", lines {format_ranges(self.lines)}" if self.lines else ""
        return f"part {self.number} of {self.count} ({self.readers}{lines})"


class Item(Frozen):
    """One thing to review. Its text is carried beside it."""

    #: The same in every run: the path relative to the root, or `session:<id>`.
    key: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    kind: ItemKind
    #: Name in findings and reports: relative to the root, with `/`.
    path: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    #: Of the text, 64 hexadecimal digits.
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    #: Bytes of the text in UTF-8.
    size: Annotated[int, Field(ge=0)]
    #: Changed lines from 1, first and last of each range included; None: all of it counts.
    changed: tuple[tuple[int, int], ...] | None = None
    #: Removed lines of a change, with their numbers before it.
    removed: Annotated[tuple[tuple[int, int], ...], Field(exclude_if=lambda value: not value)] = ()
    #: Earlier path of a file that was renamed since the compared revision; empty: none. Not archived.
    renamed_from: Annotated[Text, Field(max_length=MAX_PATH)] = ""
    #: Suffix of its language, if its path does not end with it: of scripts and notebooks. Not archived.
    suffix: Annotated[Text, Field(max_length=20, exclude_if=lambda value: not value)] = ""
    #: What its repository contradicts, for documents.
    facts: RepositoryFacts | None = None
    #: Hash of the project's settings that concern it, a part of the cache key; empty: none. Not archived.
    settings_sha: Text = ""
    #: Hash of everything that the models of the panel are shown; empty: there is no model.
    shown: Text = ""
    #: The part of the item that one session reviews; None: one session reviews all of it.
    part: ItemPart | None = None
    #: The items that one session reviews together; empty: only this one. Not archived.
    together: Annotated[tuple[Item, ...], Field(exclude_if=lambda value: not value)] = ()

    @property
    def typed_path(self) -> str:
        """Its path with the suffix of its language, by which programs and parsers choose files."""
        return f"{self.path}{self.suffix}"

    @property
    def is_change(self) -> bool:
        """Return whether only changed lines are reviewed."""
        return self.kind in (ItemKind.CHANGE, ItemKind.RENAMED, ItemKind.DELETED)

    @property
    def members(self) -> tuple[Item, ...]:
        """The items that its session reviews."""
        return self.together or (self,)


class ReadItem(Frozen):
    """An item that was read."""

    item: Item
    text: Text
    #: Changed lines of a change; None: all of its lines are new, or it is no change.
    hunks: tuple[Hunk, ...] | None = None

    def with_facts(self, facts: RepositoryFacts) -> ReadItem:
        """Return the item with what its repository contradicts; unchanged if that is nothing."""
        if facts.is_empty:
            return self
        return self.model_copy(update={"item": self.item.model_copy(update={"facts": facts})})

    def with_settings_sha(self, sha: str) -> ReadItem:
        """Return the item with the hash of the project's settings that concern it."""
        return self.model_copy(update={"item": self.item.model_copy(update={"settings_sha": sha})})


class SkippedItem(Frozen):
    """Something that is not reviewed, and why."""

    path: Text
    reason: Text
    #: Number of files, if an entry represents several that are not listed one by one.
    count: Annotated[int, Field(ge=1, exclude_if=lambda value: value == 1)] = 1


class SkippedList:
    """Skipped items: the first ones one by one, the others as one entry for each reason."""

    def __init__(self, most: int, items: Iterable[SkippedItem] = ()) -> None:
        """`most`: items that are listed one by one."""
        self._most = most
        self._listed = list(items)
        self._counts = Counter[str]()

    def add(self, item: SkippedItem) -> bool:
        """Add an item; return whether it is listed itself."""
        if item.count == 1 and len(self._listed) < self._most:
            self._listed.append(item)
            return True
        self._counts[item.reason] += item.count
        return False

    @property
    def others(self) -> Iterator[SkippedItem]:
        """Entries of the items that are not listed one by one."""
        for reason, count in self._counts.items():
            yield SkippedItem(path=count_of(count, "more file", spec=","), reason=reason, count=count)

    @property
    def items(self) -> tuple[SkippedItem, ...]:
        """All entries."""
        return (*self._listed, *self.others)


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
    #: Findings that were dropped: their quote was not found, the verifier dropped them, the confidence was too low, or
    #: there were too many.
    dropped: Annotated[int, Field(ge=0)] = 0
    #: Files of the project that models read by themselves: path, and digest of the text (empty: no such file).
    reads: tuple[tuple[str, str], ...] = ()


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
    #: Number of times that failed items were retried after the end of the run. Not archived.
    retries: Annotated[int, Field(ge=0)] = 0
    results: tuple[ItemResult, ...] = ()
    skipped: tuple[SkippedItem, ...] = ()
    #: Merged findings with their status, including those that are gone since the last run.
    findings: tuple[Finding, ...] = ()
    usage: Usage = Usage()
    summary: Text = ""
    #: The reviewed git revision; empty: no revision.
    revision: Text = ""
    #: The reviewed git branch; empty: none, or not known.
    branch: Text = ""
    #: Hash of what was to be reviewed and by whom, by which `--since last` finds the run; empty: it never does.
    scope: Text = ""
    #: Web address of the repository (`code_links.web_address`); empty: not known.
    repository_url: Text = ""
    #: The root's folder in the repository, relative to it; empty: the repository itself.
    repository_folder: Text = ""

    @property
    def open_findings(self) -> tuple[Finding, ...]:
        """Open findings: neither gone nor suppressed."""
        return tuple(finding for finding in self.findings if finding.is_open)

    def repository_path(self, path: str) -> str:
        """Return the path of an item relative to the repository."""
        return f"{self.repository_folder}/{path}" if self.repository_folder else path

    @property
    def verdict(self) -> str:
        """Verdict on the whole run: how many findings are open, and which to fix first."""
        is_reviewed = any(result.state in (ItemState.DONE, ItemState.UNCHANGED) for result in self.results)
        return summarise_findings(self.open_findings) or ("Nothing to fix." if is_reviewed else "")

    def has_finding_at_least(self, least: Severity) -> bool:
        """Return whether an open finding matters as much as `least`, or more."""
        return any(finding.severity.at_least(least) for finding in self.open_findings)


_CHANGES = (FindingStatus.NEW, FindingStatus.GONE, FindingStatus.SUPPRESSED)


def headline(run: ReviewRun) -> str:
    """Return one line: root and reviewers, state if not completed, open findings, and changes."""
    state = "" if run.state is RunState.COMPLETED else f", {run.state.value}"
    counts = format_counts(run.open_findings) or "no findings"
    changes = ", ".join(
        f"{count} {status.value}"
        for status in _CHANGES
        if (count := sum(finding.status is status for finding in run.findings))
    )
    sentence = f"Review of {run.root_name} by {run.panel}{state}: {counts}"
    return one_line(f"{sentence} ({changes})" if changes else sentence)


@dataclass(frozen=True, slots=True)
class ListedReview:
    """Row of a list of reviews."""

    id: str
    root_name: str
    panel: str
    state: str
    started: str
    #: Number of items per state, and of findings per status.
    items: dict[str, int]
    findings: dict[str, int]
    #: Number of open findings by severity, the most severe first; none before the review has ended.
    severities: dict[str, int] = field(default_factory=dict)
    tokens: int = 0
    #: Millionths of a US dollar.
    cost_micros: int = 0
    #: Error and path of the first failed item; empty: none, or the review is not archived.
    failure: str = ""

    @property
    def counts_text(self) -> str:
        """Return items and findings as text."""
        parts = [
            f"{count} {name}" for counts in (self.items, self.findings) for name, count in counts.items()
        ]
        return ", ".join(parts) or "no items"

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON data."""
        return asdict(self)


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


Formats = Annotated[tuple[ResourceName, ...], Field(max_length=10)]


class PullRequest(Frozen):
    """The pull request (in GitLab: merge request) that a run reviews. Deliveries name its repository."""

    number: Annotated[int, Field(ge=1, le=2**53)]


class DeliveryRequest(Frozen):
    """Deliveries requested by the starter of a batch. Other fields are ignored."""

    model_config = ConfigDict(extra="ignore")

    #: Names of deliveries.
    deliver: Annotated[tuple[ResourceName, ...], Field(max_length=10)] = ()
    #: Of reports.
    formats: Formats = ("markdown",)
    #: True: deliver only if a finding is new or gone, or the run was not completed.
    only_on_change: bool = False
    #: None: the run does not review a pull request.
    pull_request: PullRequest | None = None


class DeliveryJob(Frozen):
    """One delivery of one run. It names what the settings of the workers know, and holds nothing of the run."""

    run: Id
    to: ResourceName
    formats: Formats
    #: Left out if there is none, so that a queued delivery has the same text in every version.
    pull_request: Annotated[PullRequest | None, Field(exclude_if=lambda value: value is None)] = None
    #: Number of failed attempts.
    failed: Annotated[int, Field(ge=0, le=1_000)] = 0
    #: Retries of the run before this delivery, whose report replaces that of the delivery before.
    retry: Annotated[int, Field(ge=0, exclude_if=lambda value: value == 0)] = 0
