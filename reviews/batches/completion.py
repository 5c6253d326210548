"""End of a batch: one run from its results, comparison with the previous run, archive and delivery.

The results of the parts of an item are merged into one.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from ...models.errors import ArchiveUnavailable, ReviewNotFound
from ...models.text.ids import moment_from_ms, new_id
from ...models.text.words import count_of
from ...models.turns.turn import Usage
from ...state.redis.readers import read_stored
from ..archive.access import review_reader, review_writer
from ..comparing import compare_run
from ..state.records import BatchHead, BatchView, ItemRecord
from ..state.store import ReviewStore
from ..values.coverage import count_coverage
from ..values.decisions import repository_of, with_decisions
from ..values.findings import Finding
from ..values.runs import ItemResult, ItemState, ReviewRun, RunState, SkippedItem
from .context import ReviewContext

_MAX_ERROR = 500


def merge_parts(results: Iterable[ItemResult]) -> tuple[ItemResult, ...]:
    """Return one result for each item, in the order of their first parts."""
    parts: dict[str, list[ItemResult]] = {}
    for result in results:
        for part in _members(result):
            parts.setdefault(part.item.key, []).append(part)
    return tuple(map(_merge, parts.values()))


def _members(result: ItemResult) -> list[ItemResult]:
    """Return the result of a session for each item that it reviewed; usage and dropped findings count for the first."""
    first, *others = result.item.members
    if not others:
        return [result]
    rest = result.model_copy(update={"usage": Usage(), "dropped": 0})
    return [
        (result if item is first else rest).model_copy(
            update={
                "item": item,
                "findings": tuple(finding for finding in result.findings if finding.path == item.path),
            }
        )
        for item in (first, *others)
    ]


def _merge(parts: Sequence[ItemResult]) -> ItemResult:
    first = parts[0]
    if first.item.part is None:
        return first
    state = _state([part.state for part in parts])
    errors = [f"{part.item.part}: {part.error}" for part in parts if part.error]
    missing = first.item.part.count - len(parts)
    if missing > 0 and state is ItemState.DONE:
        state = ItemState.FAILED
        errors.append(f"{count_of(missing, 'part')} not reviewed: over a limit")
    return ItemResult(
        item=first.item.model_copy(update={"part": None}),
        state=state,
        findings=tuple(dict.fromkeys(finding for part in parts for finding in part.findings)),
        # The session of a failed part says why.
        session_id=next(
            (part.session_id for part in sorted(parts, key=_has_worked) if part.session_id), None
        ),
        usage=sum((part.usage for part in parts), start=Usage()),
        error="; ".join(errors)[:_MAX_ERROR],
        summary=" ".join(dict.fromkeys(part.summary for part in parts if part.summary)),
        dropped=sum(part.dropped for part in parts),
        reads=tuple(sorted({read for part in parts for read in part.reads})),
    )


def _has_worked(part: ItemResult) -> bool:
    return part.state is not ItemState.FAILED


def _state(states: Sequence[ItemState]) -> ItemState:
    """Return the state of an item: it is done only if each of its parts is."""
    for state in (ItemState.FAILED, ItemState.CANCELLED):
        if state in states and not {ItemState.RUNNING, ItemState.WAITING} & set(states):
            return state
    if set(states) == {ItemState.WAITING}:
        return ItemState.WAITING
    return ItemState.DONE if set(states) == {ItemState.DONE} else ItemState.RUNNING


log = logging.getLogger(__name__)

#: Milliseconds after which another worker takes over the report of a batch.
REPORTING_MS = 60_000
#: Milliseconds for which a batch waits for an unavailable archive; then it ends without one.
ARCHIVE_TIMEOUT_MS = 120_000


def finish_batch(context: ReviewContext, batch_id: str) -> bool:
    """Report the batch and end it; False: work is left, or another worker does. Raises ArchiveUnavailable."""
    reporter = new_id()
    if context.store.end(batch_id, reporter, lease_ms=REPORTING_MS) != "yours":
        return False
    head, view = context.store.head(batch_id), context.store.view(batch_id)
    run = run_of(context.store, head, view, outcome=context.store.outcome(batch_id))
    run = compare_run(
        run, previous=_previous(context, head, view), is_whole=head.is_whole, models=head.readers.keys()
    )
    run = with_decisions(run, context.decisions.of_repository(repository_of(run)))
    if context.archive is not None:
        try:
            context.archive.prepare()
            review_writer(context.archive).write(run)
        except ArchiveUnavailable:
            if not _archive_timed_out(context, view):
                raise
            log.warning("archive unavailable, ending review %s without archiving it", batch_id)
    context.on_run_ended(run, head)
    context.store.end(batch_id, reporter, lease_ms=REPORTING_MS, is_done=True)
    deindex_batch(context, batch_id)
    log.info("review %s %s: %s", batch_id, run.state, run.summary)
    return True


def deindex_batch(context: ReviewContext, batch_id: str) -> None:
    """Remove an ended or expired batch from the index; a batch that was restarted in between stays in it."""
    context.index.remove_batch(batch_id)
    with suppress(ReviewNotFound):
        if not context.store.view(batch_id).has_ended:
            context.index.add_batch(batch_id, context.store.now_ms())


def read_run(context: ReviewContext, batch_id: str) -> ReviewRun:
    """Return the current run; an ended one is compared with the previous run. Raises ReviewNotFound."""
    view = context.store.view(batch_id)
    if view.has_ended and context.archive is not None:
        reader = context.archive.open_reader()
        if reader is not None and review_reader(context.archive).ids(batch_id, limit=1):
            return review_reader(context.archive).run(batch_id)
    head = context.store.head(batch_id)
    run = compare_run(run_of(context.store, head, view), is_whole=head.is_whole)
    return with_decisions(run, context.decisions.of_repository(repository_of(run)))


def run_of(store: ReviewStore, head: BatchHead, view: BatchView, *, outcome: str = "") -> ReviewRun:
    """Return the run of a batch, with its findings as they were reported."""
    results = merge_parts(_result(record) for record in store.items(head.batch_id, view.total))
    state = outcome or (view.state if view.has_ended else RunState.RUNNING.value)
    return ReviewRun(
        id=head.batch_id,
        root_name=head.root_name,
        root=head.root,
        panel=head.panel.name,
        panel_sha=head.panel_sha,
        started_at=moment_from_ms(view.started_ms),
        ended_at=None if view.ended_ms is None else moment_from_ms(view.ended_ms),
        state=RunState(state),
        retries=view.retries,
        results=results,
        skipped=head.skipped,
        usage=sum((result.usage for result in results), start=Usage()),
        summary=_summary(results, head.skipped, view.reason, head.missing_tools),
        revision=head.revision,
        branch=head.branch,
        scope=head.scope,
        repository_url=head.repository_url,
        repository_folder=head.repository_folder,
    )


def _result(record: ItemRecord) -> ItemResult:
    if record.result is None:
        return ItemResult(item=record.item, state=record.state)
    kept = read_stored(ItemResult, record.result, session_id=record.item.path, part="items")
    return kept.model_copy(update={"state": record.state})


def _summary(
    results: Sequence[ItemResult], skipped: Sequence[SkippedItem], reason: str, missing: Mapping[str, int]
) -> str:
    counted = Counter(result.state for result in results)
    parts = [f"{counted[state]} {state}" for state in ItemState if counted[state]]
    text = f"{count_of(len(results), 'item')}: {', '.join(parts)}." if results else "Nothing to review."
    if dropped := sum(result.dropped for result in results):
        text += f" {count_of(dropped, 'finding')} dropped, because their quote, verification or confidence does not hold, or there were too many."
    if unverified := sum(finding.unverified for result in results for finding in result.findings):
        text += f" {count_of(unverified, 'finding')} unverified: no valid verdict of the verifier."
    if missing:
        listed = ", ".join(f"{agent} ({count_of(count, 'file')})" for agent, count in missing.items())
        text = f"{text} Not installed: {listed}."
    if coverage := str(count_coverage(results, skipped)):
        text = f"{text} {coverage}"
    return f"{text} Stopped: {reason}." if reason else text


def _previous(context: ReviewContext, head: BatchHead, view: BatchView) -> tuple[Finding, ...]:
    if context.archive is None:
        return ()
    try:
        context.archive.prepare()
        root = head.root or head.root_name
        return review_reader(context.archive).previous_findings(
            root, head.panel.name, branch=head.against or None, without=head.batch_id
        )
    except ArchiveUnavailable:
        if not _archive_timed_out(context, view):
            raise
        return ()


def _archive_timed_out(context: ReviewContext, view: BatchView) -> bool:
    return context.store.now_ms() - (view.ended_ms or 0) > ARCHIVE_TIMEOUT_MS
