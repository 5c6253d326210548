"""Start of a batch: reading of the source, known results from the archive, upload of the other items.

Items are uploaded in chunks, so a source of any size needs only the memory of one chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...models.errors import ReviewNotFound
from ..chunks.project import Project
from ..panels import panel_sha
from ..state.records import BatchHead
from ..values.readers import readers_of
from ..values.runs import ReadItem, SkippedItem
from .batch import advance_batch
from .context import ReviewContext
from .request import ReviewRequest, planner_of, without_missing_tools
from .uploader import ItemUploader

#: Number of items looked up in the archive at once.
_CHUNK = 100


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
    project = Project(order.panel, order.folder)
    if readers and project.readable_files:
        review_context.files.add(
            head.batch_id, project.readable_files, ttl_s=review_context.store.retention_s
        )
    uploader = ItemUploader(
        review_context,
        head,
        planner_of(order, readers, project),
        absent=absent,
        everything=order.everything,
        project=project,
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
