"""Upload of the items of a batch: known results from the archive, sessions for the other items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..archive.access import review_reader
from ..chunks.planner import ItemPlan, SessionPlanner
from ..chunks.project import Project
from ..state.readable_files import file_digest
from ..state.records import MAX_ITEMS, MAX_TEXT_BYTES, BatchHead
from ..values.panels import PanelTool
from ..values.runs import Item, ItemResult, ItemState, ReadItem, SkippedItem
from .context import ReviewContext
from .needs import limited_needs

if TYPE_CHECKING:
    from ...archive.archive import Archive

#: Maximum number of skipped items in the list.
_MAX_SKIPPED_LISTED = 1_000


class ItemUploader:
    """Upload of the read items, chunk by chunk: the sessions that review each of them."""

    def __init__(
        self,
        review_context: ReviewContext,
        head: BatchHead,
        planner: SessionPlanner,
        *,
        absent: tuple[PanelTool, ...],
        everything: bool,
        project: Project,
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
        self._project = project

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
            needs = limited_needs(it, self._head.panel.for_path(it.item.path), self._head.readers)
            self._context.store.add(self._head.batch_id, self.total, it.item, it.opening, needs=needs)

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
        return known_results(
            self._context.archive,
            self._head.panel_sha,
            (it.item for it in plans),
            files=self._project.readable_files,
        )


def known_results(
    archive: Archive | None, sha: str, items: Iterable[Item], *, files: Mapping[str, str]
) -> dict[str, ItemResult]:
    """Return the archived results of items for which the panel would be shown the same, by item key.

    `files`: those that models may read now. A result counts only if the files that they read are the same.
    """
    if archive is None:
        return {}
    archive.prepare()
    by_key = {item.key: item for item in items}
    found = review_reader(archive).cached_results(sha, by_key.values())
    return {
        key: ItemResult(
            item=by_key[key],
            state=ItemState.UNCHANGED,
            findings=it.findings,
            session_id=it.session_id,
            summary=it.summary,
            reads=it.reads,
        )
        for key, it in found.items()
        if all(file_digest(files.get(path)) == digest for path, digest in it.reads)
    }
