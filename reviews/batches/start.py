"""Start of a batch: reading of the source, known results from the archive, upload of the other items.

Items are uploaded in chunks, so a source of any size needs only the memory of one chunk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from ...models.errors import ReviewNotFound
from ...models.review.panels import Panel, PanelTool
from ...models.review.readers import ReaderModel, readers_of
from ...models.review.runs import Item, ItemResult, ItemState, ReadItem, SkippedItem
from ...models.review.tool_settings import ToolSettings
from ...models.text.ids import new_id
from ...state.reviews.records import MAX_ITEMS, MAX_TEXT_BYTES, BatchHead
from ..chunks.planner import ItemPlan, SessionPlanner
from ..chunks.project import Project
from ..panels import missing_tools, panel_sha
from .batch import advance_batch
from .context import ReviewContext

if TYPE_CHECKING:
    from ...archive.archive import Archive

#: Number of items looked up in the archive at once.
_CHUNK = 100
#: Maximum number of skipped items in the list.
_MAX_SKIPPED_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What to review, and the panel that reviews it."""

    #: Name of the root: a configured name, or that of the folder.
    root_name: str
    #: The panel, with an agent in every seat (`Panel.with_model`).
    panel: Panel
    source: Iterable[ReadItem | SkippedItem]
    #: True: include items that have not changed since this panel reviewed them last.
    everything: bool = False
    #: True if the source covers the whole root.
    is_whole: bool = False
    #: Reviewed git revision, and its branch.
    revision: str = ""
    branch: str = ""
    #: Scope of the run (`scope_of`); empty: no review since the last one continues it.
    scope: str = ""
    #: Branch whose last runs decide which findings are new; empty: the last runs of any branch.
    against: str = ""
    #: Web address of the repository, and the root's folder in it; empty: not known.
    repository_url: str = ""
    repository_folder: str = ""
    batch_id: str = field(default_factory=new_id)
    #: Identity of the root, to find earlier runs; empty: its name.
    root: str = ""
    #: Settings of the reviewed project for ruff and bandit.
    settings: ToolSettings = ToolSettings()  # noqa: RUF009 - frozen
    #: Options of the deliveries at the end.
    then: Mapping[str, JsonValue] = field(default_factory=dict)
    #: Model agents by name, beside those that workers announce.
    models: Mapping[str, ReaderModel] = field(default_factory=dict)
    #: Identities of agents that run programs, by name, beside those that workers announce.
    programs: Mapping[str, str] = field(default_factory=dict)
    #: Folder of the items, from which models are shown rules and callers; None: there is none.
    folder: Path | None = None


def start_batch(
    review_context: ReviewContext, order: ReviewRequest, *, on_read: Callable[[int], None] = lambda _: None
) -> str:
    """Start a batch and return its id; a repeated call with the same `batch_id` has no further effect.

    `on_read`: callback with the number of items read so far.

    Raises:
        InvalidInput: The source cannot be read.
        RedisUnavailable, ArchiveUnavailable: No review begins.
    """
    if _is_there(review_context, order.batch_id):
        advance_batch(review_context, order.batch_id)
        return order.batch_id
    order, absent = without_missing_tools(order)
    workers = review_context.workers
    readers = readers_of(
        order.panel, {**order.models, **workers.reader_models()}, known_agents=workers.known_agents()
    )
    programs = {**order.programs, **workers.program_identities()}
    head = BatchHead(
        batch_id=order.batch_id,
        root_name=order.root_name,
        root=order.root,
        panel=order.panel,
        panel_sha=panel_sha(order.panel, readers, programs),
        settings=order.settings.model_copy(update={"notes": ()}),
        readers=readers,
        is_whole=order.is_whole,
        revision=order.revision,
        branch=order.branch,
        scope=order.scope,
        against=order.against,
        repository_url=order.repository_url,
        repository_folder=order.repository_folder,
        then=dict(order.then),
    )
    review_context.store.open(head)
    uploader = _ItemUploader(
        review_context, head, planner_of(order, readers), absent=absent, everything=order.everything
    )
    uploader.skipped += order.settings.notes
    for chunk in _chunks(order.source):
        uploader.add_chunk(chunk)
        on_read(uploader.total)
    # Add it to the index first: a crash after this line leaves only an index entry without a batch.
    review_context.index.add_batch(head.batch_id, review_context.store.now_ms())
    head = head.model_copy(
        update={"skipped": tuple(uploader.skipped), "missing_tools": dict(uploader.missed_tools)}
    )
    review_context.store.start(head, total=uploader.total, unchanged=uploader.unchanged)
    advance_batch(review_context, head.batch_id)
    return head.batch_id


def _is_there(review_context: ReviewContext, batch_id: str) -> bool:
    try:
        return review_context.store.view(batch_id).state != "opening"
    except ReviewNotFound:
        return False


def _chunks(source: Iterable[ReadItem | SkippedItem]) -> Iterator[list[ReadItem | SkippedItem]]:
    chunk: list[ReadItem | SkippedItem] = []
    for it in source:
        chunk.append(it)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def without_missing_tools(order: ReviewRequest) -> tuple[ReviewRequest, tuple[PanelTool, ...]]:
    """Return the request without tools that are not installed on this machine, and these tools."""
    missing = missing_tools(order.panel)
    absent = tuple(tool for tool in order.panel.tools if tool.agent in missing)
    return replace(order, panel=order.panel.without_tools(missing)), absent


def planner_of(order: ReviewRequest, readers: Mapping[str, ReaderModel]) -> SessionPlanner:
    """Return the planner of a batch's sessions."""
    sections = Project(order.panel, order.folder).sections
    return SessionPlanner(order.panel, readers, sections, order.settings)


class _ItemUploader:
    """Upload of the read items, chunk by chunk: the sessions that review each of them."""

    def __init__(
        self,
        review_context: ReviewContext,
        head: BatchHead,
        planner: SessionPlanner,
        *,
        absent: tuple[PanelTool, ...],
        everything: bool,
    ) -> None:
        #: Number of sessions and unchanged items.
        self.total = 0
        self.unchanged = 0
        self.skipped: list[SkippedItem] = []
        #: Number of items by tool that would have reviewed them, but is not installed.
        self.missed_tools: Counter[str] = Counter()
        self._absent = absent
        self._bytes = 0
        self._context = review_context
        self._head = head
        self._planner = planner
        self._everything = everything

    def add_chunk(self, chunk: Iterable[ReadItem | SkippedItem]) -> None:
        """Upload the next chunk."""
        reads = [it for it in chunk if isinstance(it, ReadItem) or self._skip(it)]
        plans = [self._planner.plan(it) for it in reads if isinstance(it, ReadItem) and self._is_wanted(it)]
        known = self._known(plans)
        for plan in plans:
            for skipped in plan.skipped:
                self._skip(skipped)
            if self.total + len(plan.sessions) > MAX_ITEMS:
                self._skip(SkippedItem(path=plan.item.path, reason=f"over the limit of {MAX_ITEMS} sessions"))
            elif (result := known.get(plan.item.key)) is not None:
                self.total, self.unchanged = self.total + 1, self.unchanged + 1
                self._context.store.add_known(
                    self._head.batch_id, self.total, plan.item, result.model_dump_json()
                )
            else:
                self._add(plan)

    def _add(self, plan: ItemPlan) -> None:
        """Add the sessions of an item: all, or none if they would exceed the limit."""
        size = sum(len(it.opening.encode()) for it in plan.sessions)
        if self._bytes + size > MAX_TEXT_BYTES:
            reason = f"over the limit of {MAX_TEXT_BYTES} bytes in total"
            self._skip(SkippedItem(path=plan.item.path, reason=reason))
            return
        self._bytes += size
        for it in plan.sessions:
            self.total += 1
            self._context.store.add(self._head.batch_id, self.total, it.item, it.opening)

    def _is_wanted(self, read: ReadItem) -> bool:
        missed = [tool.agent for tool in self._absent if tool.reviews(read.item.path)]
        if not self._head.panel.reviews(read.item.path):
            self.missed_tools.update(missed)
            return self._skip(SkippedItem(path=read.item.path, reason=self._reason(missed)))
        if read.text.strip():
            self.missed_tools.update(missed)
        return bool(read.text.strip()) or self._skip(SkippedItem(path=read.item.path, reason="empty"))

    def _reason(self, missed: Sequence[str]) -> str:
        """Return why the panel does not review an item."""
        panel = self._head.panel
        if missed:
            return f"not installed: {', '.join(missed)}"
        names = panel.files or dict.fromkeys(name for tool in panel.tools for name in tool.files)
        if panel.has_model or not names:
            return f"the panel does not review {', '.join(panel.exclude)}"
        return f"the panel reviews {', '.join(names)} only"

    def _skip(self, skipped: SkippedItem) -> bool:
        """Record a skipped item; return False, because there is nothing to review."""
        if len(self.skipped) < _MAX_SKIPPED_LISTED:
            self.skipped.append(skipped)
        return False

    def _known(self, plans: Iterable[ItemPlan]) -> dict[str, ItemResult]:
        if self._everything:
            return {}
        return known_results(self._context.archive, self._head.panel_sha, (it.item for it in plans))


def known_results(archive: Archive | None, sha: str, items: Iterable[Item]) -> dict[str, ItemResult]:
    """Return the archived results of items for which the panel would be shown the same, by item key."""
    if archive is None:
        return {}
    archive.prepare()
    by_key = {item.key: item for item in items}
    found = archive.review_reader.cached_results(sha, by_key.values())
    return {
        key: ItemResult(
            item=by_key[key],
            state=ItemState.UNCHANGED,
            findings=it.findings,
            session_id=it.session_id,
            summary=it.summary,
        )
        for key, it in found.items()
    }
