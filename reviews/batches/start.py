"""Start of a batch: reading of the source, known results from the archive, upload of the other items.

Items are uploaded in chunks, so a source of any size needs only the memory of one chunk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from ...models.errors import ReviewNotFound
from ...models.review.panels import Panel, PanelTool
from ...models.review.runs import ItemResult, ItemState, ReadItem, SkippedItem
from ...models.review.tool_settings import ToolSettings
from ...models.text.ids import new_id
from ...state.reviews.records import MAX_ITEMS, MAX_TEXT_BYTES, BatchHead
from ..panels import missing_tools, panel_sha
from .batch import advance_batch
from .context import ReviewContext

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
    missing = missing_tools(order.panel)
    panel = order.panel.without_tools(missing)
    head = BatchHead(
        batch_id=order.batch_id,
        root_name=order.root_name,
        root=order.root,
        panel=panel,
        panel_sha=panel_sha(panel),
        settings=order.settings.model_copy(update={"notes": ()}),
        is_whole=order.is_whole,
        revision=order.revision,
        branch=order.branch,
        against=order.against,
        repository_url=order.repository_url,
        repository_folder=order.repository_folder,
        then=dict(order.then),
    )
    review_context.store.open(head)
    absent = tuple(tool for tool in order.panel.tools if tool.agent in missing)
    handing = _ItemUploader(review_context, head, absent=absent, everything=order.everything)
    handing.skipped += order.settings.notes
    for chunk in _chunks(order.source):
        handing.add_chunk(chunk)
        on_read(handing.total)
    # Add it to the index first: a crash after this line leaves only an index entry without a batch.
    review_context.index.add_batch(head.batch_id, review_context.store.now_ms())
    head = head.model_copy(
        update={"skipped": tuple(handing.skipped), "missing_tools": dict(handing.missed_tools)}
    )
    review_context.store.start(head, total=handing.total, unchanged=handing.unchanged)
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


class _ItemUploader:
    """Upload of the read items, chunk by chunk."""

    def __init__(
        self,
        review_context: ReviewContext,
        head: BatchHead,
        *,
        absent: tuple[PanelTool, ...] = (),
        everything: bool = False,
    ) -> None:
        self.total = 0
        self.unchanged = 0
        self.skipped: list[SkippedItem] = []
        #: Number of items by tool that would have reviewed them, but is not installed.
        self.missed_tools: Counter[str] = Counter()
        self._absent = absent
        self._bytes = 0
        self._context = review_context
        self._head = head
        self._everything = everything

    def add_chunk(self, chunk: Iterable[ReadItem | SkippedItem]) -> None:
        """Upload the next chunk."""
        reads = [it for it in chunk if isinstance(it, ReadItem) or self._skip(it)]
        wanted = [self._with_settings(it) for it in reads if isinstance(it, ReadItem) and self._is_wanted(it)]
        known = self._known(wanted)
        for read in wanted:
            if self.total >= MAX_ITEMS:
                self._skip(SkippedItem(path=read.item.path, reason=f"over the limit of {MAX_ITEMS} items"))
            elif (result := known.get(read.item.key)) is not None:
                self.total, self.unchanged = self.total + 1, self.unchanged + 1
                self._context.store.add_known(
                    self._head.batch_id, self.total, read.item, result.model_dump_json()
                )
            elif self._bytes + read.item.size > MAX_TEXT_BYTES:
                self._skip(
                    SkippedItem(
                        path=read.item.path, reason=f"over the limit of {MAX_TEXT_BYTES} bytes in total"
                    )
                )
            else:
                self.total, self._bytes = self.total + 1, self._bytes + read.item.size
                self._context.store.add(self._head.batch_id, self.total, read.item, read.text)

    def _is_wanted(self, read: ReadItem) -> bool:
        missed = [tool.agent for tool in self._absent if tool.reviews(read.item.path)]
        if not self._head.panel.reviews(read.item.path):
            self.missed_tools.update(missed)
            return self._skip(SkippedItem(path=read.item.path, reason=self._reason(missed)))
        if read.text.strip():
            self.missed_tools.update(missed)
        return bool(read.text.strip()) or self._skip(SkippedItem(path=read.item.path, reason="empty"))

    def _with_settings(self, read: ReadItem) -> ReadItem:
        sha = self._head.settings.sha_for_path(read.item.path, read.text)
        return read.model_copy(update={"item": read.item.model_copy(update={"settings_sha": sha})})

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

    def _known(self, reads: Iterable[ReadItem]) -> dict[str, ItemResult]:
        archive = self._context.archive
        if archive is None or self._everything:
            return {}
        archive.prepare()
        items = {read.item.key: read.item for read in reads}
        found = archive.review_reader.cached_results(self._head.panel_sha, items.values())
        return {
            key: ItemResult(
                item=items[key],
                state=ItemState.UNCHANGED,
                findings=it.findings,
                session_id=it.session_id,
                summary=it.summary,
            )
            for key, it in found.items()
        }
