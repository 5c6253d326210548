"""Start of a batch: reading of the source, known results from the archive, upload of the other items.

Items are uploaded in chunks, so a source of any size needs only the memory of one chunk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from ...models.errors import ReviewError
from ..archive.access import known_results
from ..chunks.planner import ChangedFile, ItemPlan, PlannedSession, SessionPlanner
from ..chunks.project import Project
from ..panels import panel_sha
from ..state.records import MAX_ITEMS, MAX_TEXT_BYTES, BatchHead
from ..values.coverage import EMPTY, NOT_MEANT, ONLY_MEANT
from ..values.panels import PanelTool, matches_name, readers_of
from ..values.runs import Item, ItemResult, ReadItem, SkippedItem, SkippedList
from .batch import advance_batch
from .context import ReviewContext
from .needs import check_seats, reserved_needs
from .program_runs import Outputs, outputs_of, run_programs
from .request import ReviewRequest, is_reviewable, planner_of, without_missing_tools

_TOO_MANY = f"over the limit of {MAX_ITEMS} sessions"
#: Maximum number of skipped items that are listed one by one.
_MAX_SKIPPED_LISTED = 1_000


@dataclass(kw_only=True)
class ItemUploader:
    """Upload of the read items, chunk by chunk: the sessions that review each of them."""

    context: ReviewContext
    head: BatchHead
    #: Number of the starter.
    starter: int
    planner: SessionPlanner
    project: Project
    #: Tools of the panel that are not installed.
    absent: tuple[PanelTool, ...]
    everything: bool
    #: Agents that no agents file replaces.
    built_in: frozenset[str] = frozenset()
    #: Number of sessions and unchanged items.
    total: int = 0
    unchanged: int = 0
    #: What models are shown before the text of every item.
    guide: str = ""
    skipped: SkippedList
    #: Number of items that are reviewed without a tool because it is not installed, by tool.
    missed_tools: Counter[str] = field(default_factory=Counter)
    _bytes: int = 0
    _outputs: Outputs = field(default_factory=dict)
    #: Keys of the items that have a session or are skipped.
    _counted: set[str] = field(default_factory=set)
    #: All files of a change, and those that models must review.
    _items: list[Item] = field(default_factory=list)
    _changed: list[ChangedFile] = field(default_factory=list)

    def add_chunk(self, chunk: Iterable[ReadItem | SkippedItem]) -> None:
        """Upload the next chunk."""
        reads = [entry for entry in chunk if isinstance(entry, ReadItem) or self._skip(entry)]
        plans = [
            self.planner.plan(entry)
            for entry in reads
            if isinstance(entry, ReadItem) and self._is_wanted(entry)
        ]
        cached = self._known(plans)
        wanted = {plan.item.key for plan in plans} - cached.keys()
        self._outputs = run_programs(
            [read for read in reads if isinstance(read, ReadItem) and read.item.key in wanted],
            self.head.panel,
            self.head.settings,
            built_in=self.built_in,
        )
        for plan in plans:
            for skipped in plan.skipped:
                self._skip(skipped)
            if not plan.sessions and not plan.changed:
                continue
            self._items.append(plan.item)
            if self.total + len(plan.sessions) > MAX_ITEMS:
                self._skip(SkippedItem(path=plan.item.path, reason=_TOO_MANY))
            elif (result := cached.get(plan.item.key)) is not None:
                self.total, self.unchanged = self.total + 1, self.unchanged + 1
                self.context.store.add_known(
                    self.head.batch_id, self.starter, self.total, plan.item, result.model_dump_json()
                )
            else:
                self._add(plan)

    def add_together(self) -> None:
        """Upload the sessions in which models review several files of a change; the source has ended."""
        for session in self.planner.together(self._changed, self._items, self.skipped.items):
            if self.total == MAX_ITEMS:
                # A member with another session has a result, which says that a part is missing.
                for item in session.item.members:
                    if item.key not in self._counted:
                        self._counted.add(item.key)
                        self._skip(SkippedItem(path=item.path, reason=_TOO_MANY))
            else:
                self._upload(session)

    def _add(self, plan: ItemPlan) -> None:
        """Add the sessions and changed lines of an item: all, or none if they would exceed the limit."""
        texts = [
            *(session.opening for session in plan.sessions),
            *(changed.text for changed in plan.changed),
        ]
        size = sum(len(text.encode()) for text in texts)
        if self._bytes + size > MAX_TEXT_BYTES:
            reason = f"over the limit of {MAX_TEXT_BYTES} bytes in total"
            self._skip(SkippedItem(path=plan.item.path, reason=reason))
            return
        self._bytes += size
        self._changed += plan.changed
        for session in plan.sessions:
            self._upload(session)

    def _upload(self, session: PlannedSession) -> None:
        self.total += 1
        self.guide = session.guide or self.guide
        self._counted.update(item.key for item in session.item.members)
        needs = reserved_needs(session, self.head.panel.for_path(session.item.typed_path), self.head.readers)
        self.context.store.add(
            self.head.batch_id,
            self.starter,
            self.total,
            session.item,
            session.opening,
            needs=needs,
            outputs=outputs_of(session, self._outputs),
        )

    def _is_wanted(self, read: ReadItem) -> bool:
        missed = [tool.agent for tool in self.absent if tool.reviews(read.item.typed_path)]
        if not self.head.panel.reviews(read.item.typed_path):
            return self._skip(
                SkippedItem(path=read.item.path, reason=self._reason(read.item.typed_path, missed))
            )
        if read.text.strip():
            self.missed_tools.update(missed)
        return is_reviewable(read) or self._skip(SkippedItem(path=read.item.path, reason=EMPTY))

    def _reason(self, path: str, missed: Sequence[str]) -> str:
        """Return why the panel does not review an item."""
        panel = self.head.panel
        if missed:
            return f"not installed: {', '.join(missed)}"
        if matches_name(path, panel.exclude):
            return f"{NOT_MEANT} files of this name"
        if panel.files:
            return f"{ONLY_MEANT} {', '.join(panel.files)} only"
        return "no program of the panel reads it"

    def _skip(self, skipped: SkippedItem) -> bool:
        """Record a skipped item; return False, because there is nothing to review."""
        self.skipped.add(skipped)
        return False

    def _known(self, plans: Iterable[ItemPlan]) -> dict[str, ItemResult]:
        if self.everything:
            return {}
        return known_results(
            self.context.archive,
            self.head.panel_sha,
            (plan.item for plan in plans),
            files=self.project.readable_files,
        )


#: Number of items that are looked up in the archive, and read by programs, at once.
CHUNK = 100


def start_batch(
    context: ReviewContext,
    order: ReviewRequest,
    *,
    starter: int | None = None,
    on_read: Callable[[int], None] = lambda _: None,
) -> str:
    """Start a batch and return its id; a repeated call with the same `batch_id` has no further effect.

    `starter`: number of the starter (`ReviewStore.claim_start`); None: a new one.
    `on_read`: callback with the number of items read so far.

    Raises:
        InvalidInput: The source cannot be read.
        ReviewError: A later starter has begun.
        RedisUnavailable, ArchiveUnavailable: No review begins.
    """
    order, absent = without_missing_tools(order)
    workers = context.workers
    readers = readers_of(
        order.panel, {**order.models, **workers.reader_models()}, known_agents=workers.known_agents()
    )
    check_seats(order.panel, readers)
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
    project = Project(order.panel, order.folder)
    planner = planner_of(order, readers, project)
    starter = context.store.claim_start(head.batch_id) if starter is None else starter
    if not context.store.open(head, starter):
        advance_batch(context, head.batch_id)
        return head.batch_id
    if readers and project.readable_files:
        context.files.add(head.batch_id, project.readable_files, ttl_s=context.store.retention_s)
    uploader = ItemUploader(
        context=context,
        head=head,
        starter=starter,
        planner=planner,
        project=project,
        absent=absent,
        everything=order.everything,
        built_in=workers.known_agents().built_in,
        skipped=SkippedList(_MAX_SKIPPED_LISTED, order.settings.notes),
    )
    source = iter(order.source)
    while chunk := list(islice(source, CHUNK)):
        uploader.add_chunk(chunk)
        on_read(uploader.total)
    uploader.add_together()
    # Add it to the index first: a crash after this line leaves only an index entry without a batch.
    context.index.add_batch(head.batch_id, context.store.now_ms())
    head = head.model_copy(
        update={
            "guide": uploader.guide,
            "skipped": uploader.skipped.items,
            "missing_tools": dict(uploader.missed_tools),
        }
    )
    context.store.start(head, starter, total=uploader.total, unchanged=uploader.unchanged)
    advance_batch(context, head.batch_id)
    return head.batch_id


def record_failed_batch(context: ReviewContext, head: BatchHead, starter: int, reason: str) -> None:
    """Record a batch that could not start, so that its report is archived and delivered.

    Nothing is done if the batch was started, or a later starter has begun.

    Raises:
        RedisUnavailable, ArchiveUnavailable: The call may be repeated.
    """
    with suppress(ReviewError):
        if context.store.open(head, starter):
            context.index.add_batch(head.batch_id, context.store.now_ms())
            context.store.start(head, starter, failure=reason)
    advance_batch(context, head.batch_id)
