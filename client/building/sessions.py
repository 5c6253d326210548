"""The sessions of an installation, live or archived.

`Client` and the worker processes use the same class, so scheduled sessions are submitted like all others. What opens
sessions is imported with the first submission.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache, partial
from typing import TYPE_CHECKING

from ...config.settings import Settings
from ...jobs.collab import CollabJob, live_job, submit_session
from ...jobs.reading import Connections
from ...models.errors import (
    AmbiguousId,
    InvalidInput,
    MissingPackage,
    RedisUnavailable,
    SessionNotFound,
    SymposiaError,
)
from ...models.sessions.on_end import ON_END, check_url
from ...models.sessions.submission import Submission
from ...models.text.ids import is_uuid4
from ...state.presence import WorkerPresence, all_agents
from ...state.redis.readers import Unreadable, read_record
from ...state.sessions.index import SessionIndex
from ...state.sessions.store import SessionStore
from ...state.tenant_lanes import TenantLanes
from ...state.worker_routes import WorkerRoutes, WorkerWatch, warn_of_ignored_priority
from ...tasks.runtime.graph import TaskGraph
from .connection import connect_in_use, open_archive, redis_url_in_use

if TYPE_CHECKING:
    from celery import Celery
    from pydantic import BaseModel

    from ...archive.archive import Archive
    from ...archive.results import SessionFilter
    from ...archive.sessions.reader import ArchiveReader
    from ...tasks.sessions.opening import SessionOpener
    from ...tasks.sessions.opening_many import NameInErrors
    from ...workspace.placement import TaskPlacement

#: Minimum characters of a shortened id.
SHORTEST_ID = 8
_ID_START = re.compile(r"[0-9a-f-]+")


def find_id(
    text: object,
    ids_of: Callable[[str], Sequence[str]],
    *,
    kind: str,
    not_found: Callable[[str], SymposiaError],
) -> str:
    """Return the whole id of a session or a review. A whole id is not checked: it may not exist.

    Args:
        text: An id, or the first `SHORTEST_ID` or more characters of one.
        ids_of: Returns the ids that start with a prefix.
        kind: Kind of the object, for the messages.
        not_found: Returns the error for an unknown id.

    Raises:
        AmbiguousId: Several ids start with this.
        InvalidInput: It is too short, or not text.
        SymposiaError: No id starts with it (from `not_found`), or `ids_of` failed.
    """
    wanted = text.strip().lower() if isinstance(text, str) else ""
    if is_uuid4(wanted):
        return wanted
    if len(wanted) < SHORTEST_ID:
        raise InvalidInput("id", text, f"must be a {kind} id, or at least its first {SHORTEST_ID} characters")
    ids = ids_of(wanted) if _ID_START.fullmatch(wanted) else ()
    if len(ids) > 1:
        raise AmbiguousId(wanted, ids, kind=f"{kind}s")
    if not ids:
        raise not_found(wanted)
    return ids[0]


class Sessions:
    """All sessions of one Redis and one archive. Connects lazily.

    Args:
        settings: The settings of the installation.
        find_app: Returns the Celery app that sends the tasks; called when the first one is sent.
        worker_grace_s: Seconds without a running worker before a call that waits logs a warning; above 0,
            `submit` logs none.
        graph: Dispatch of the turns; None: as tasks of the Celery app.
    """

    def __init__(
        self,
        settings: Settings,
        find_app: Callable[[], Celery],
        *,
        worker_grace_s: float = 0.0,
        graph: TaskGraph | None = None,
    ) -> None:
        self._settings = settings
        self._is_local = graph is not None
        self._opened = ExitStack()
        # Without a reference to this object: its connections must close when its last reference is gone.
        self._open_archive = cache(partial(_open_archive, settings, self._opened))
        redis = connect_in_use(settings)
        self._opened.callback(redis.close)
        placement = cache(partial(_task_placement, self._open_archive))
        self.workers = WorkerPresence(redis)
        store, index = SessionStore(redis), SessionIndex(redis)
        graph = graph or TaskGraph(
            find_app,
            routes=WorkerRoutes(self.workers),
            weights=settings.tenant_weights,
            tenant_lanes=TenantLanes(redis),
        )
        # Without a reference to this object, as above.
        self._find_opener = cache(
            partial(session_opener, settings, store, index, graph, lambda prepared: placement()(prepared))  # noqa: PLW0108
        )
        self.connections = Connections(
            redis=redis,
            find_redis_url=partial(redis_url_in_use, settings),
            store=store,
            index=index,
            graph=graph,
            retention_ms=settings.retention_s * 1000,
            max_message_bytes=settings.max_message_bytes,
            max_attachment_bytes=settings.max_attachment_bytes,
            find_opener=self._find_opener,
            workers=self.workers,
            check_joining=lambda spec, who: placement().check_joining(spec, who),
            watch_workers=partial(WorkerWatch, self.workers, grace_s=worker_grace_s),
        )

    @property
    def _opener(self) -> SessionOpener:
        return self._find_opener()

    def close(self) -> None:
        """Close the connections to Redis and to the archive. Each later call raises ClientClosed."""
        self._opened.close()

    @property
    def archive(self) -> Archive | None:
        """The archive, or None where none is kept. Connects lazily."""
        return self._open_archive()

    def reader(self) -> ArchiveReader | None:
        """Return the reader of the archive, or None without a database (yet).

        Raises:
            ArchiveUnavailable: The database does not answer.
        """
        return None if self.archive is None else self.archive.open_reader()

    def _find_reader(self) -> tuple[ArchiveReader | None, str]:
        """Return the reader of the archive as `reader` does; if packages are missing, None and what is missing.

        A client may lack the packages of the archive of its workers.
        """
        try:
            return self.reader(), ""
        except MissingPackage as missing:
            return None, str(missing)

    def submit(self, submission: Submission) -> CollabJob:
        """Submit a session. The same `collab_id` again is the same session.

        Logs a warning when no worker is running.

        Raises:
            InvalidInput: One line with field, value and rule; nothing was written.
            SessionConflict: The id is taken by a session with other content.
            RedisUnavailable: Nothing was written, or the same submission may be repeated.
        """
        return submit_session(self.connections, self._with_history(submission))

    def _with_history(self, submission: Submission) -> Submission:
        """Return the checked submission, with the session that it continues, if it names one."""
        if (on_end := submission.on_end) is not None:
            if self._is_local:
                raise InvalidInput(ON_END, "given", "must be omitted here: without workers nothing is sent")
            if on_end.url is not None:
                check_url(on_end.url, self._settings.on_end_urls)
        if submission.continues is None:
            return submission
        from ...jobs.continuing import continue_submission

        return continue_submission(self.get(self.find_id(submission.continues)), submission)

    def submit_many(
        self, submissions: Sequence[Submission], *, name_in_errors: NameInErrors
    ) -> list[CollabJob]:
        """Submit sessions in few round trips. All are checked before the first is written.

        Logs one warning when no worker is running.

        Args:
            submissions: The submissions.
            name_in_errors: Context in which the submission with an index is checked.

        Raises:
            InvalidInput: One line with field, value and rule; nothing was written.
            SessionConflict: An id is taken by a session with other content; nothing was written.
            PartlySubmitted: Some sessions were submitted, others not.
            RedisUnavailable: Nothing was written.
        """
        from ...tasks.sessions.opening import prepare
        from ...tasks.sessions.opening_many import open_many

        try:
            workers = self.workers.list_alive()
        except RedisUnavailable:
            for index, submission in enumerate(submissions):
                with name_in_errors(index):
                    prepare(submission, max_message_bytes=self._settings.max_message_bytes)
            raise
        resolved = []
        for index, submission in enumerate(submissions):
            with name_in_errors(index):
                resolved.append(self._with_history(submission))
        opened = open_many(
            self._opener, resolved, known_agents=all_agents(workers), name_in_errors=name_in_errors
        )
        if any(opened):
            batch = f"a batch of sessions ({len(opened)})"
            self.connections.watch_workers(batch).record_check(bool(workers))
            warn_of_ignored_priority(workers, (facts.spec.priority for facts in opened if facts), what=batch)
        return [
            self.get_live(submission.collab.collab_id, output_type=submission.output_type)
            if facts is None
            else CollabJob(facts, self.connections, output_type=submission.output_type)
            for submission, facts in zip(submissions, opened, strict=True)
        ]

    def get(self, session_id: str) -> CollabJob:
        """Return a session: the live one, or else the archived one.

        Raises:
            SessionNotFound: Neither Redis nor the archive has it.
            ArchiveUnavailable: It is not live, and the archive does not answer.
            RedisUnavailable: Redis does not answer, and the archive has no such session that has ended.
        """
        try:
            return self.get_live(session_id)
        except SessionNotFound:
            reader, missing = self._find_reader()
            if reader is None:
                raise SessionNotFound(session_id, missing) from None
        except RedisUnavailable:
            # The archive is complete for a session that has ended; for any other it may be out of date.
            reader, _ = self._find_reader()
            if reader is None or not reader.has_ended(session_id):
                raise
        from ...jobs.archived import ArchivedJob

        return ArchivedJob(session_id, reader, self.connections)

    def iterate_archived(self, wanted: SessionFilter) -> Iterator[str]:
        """Yield the ids of archived sessions, newest first; none without an archive.

        Raises:
            ArchiveUnavailable: The archive does not answer.
        """
        reader, cursor = self.reader(), None
        while reader is not None:
            page = reader.page(wanted, after=cursor)
            yield from (session.session_id for session in page.items)
            cursor = page.cursor
            if cursor is None:
                return

    def find_id(self, text: str) -> str:
        """Return the whole id of a session. A whole id is not checked: its session may not exist.

        Args:
            text: An id, or the first `SHORTEST_ID` or more characters of one.

        Raises:
            AmbiguousId: Several sessions have ids that start with this.
            InvalidInput: It is too short, or not text.
            SessionNotFound: No session has an id that starts with it.
            RedisUnavailable: Redis does not answer, and the archive has no such id.
        """

        def not_found(prefix: str) -> SessionNotFound:
            return SessionNotFound(prefix, self._find_reader()[1])

        return find_id(text, self._ids, kind="session", not_found=not_found)

    def _ids(self, prefix: str) -> list[str]:
        """Return the ids of live and archived sessions that start with `prefix`."""
        reader, _ = self._find_reader()
        archived = reader.ids(prefix) if reader else []
        try:
            listed = [
                session_id
                for session_id, _ in self.connections.index.iterate_listed(page_size=10_000)
                if session_id.startswith(prefix)
            ]
        except RedisUnavailable:
            if not archived:
                raise
            return archived
        return list(dict.fromkeys([*listed, *archived]))

    def iterate_live(self, *, before_ms: int | None = None) -> Iterator[tuple[CollabJob | Unreadable, int]]:
        """Yield all live sessions with the time at which they were listed, newest first, and the unreadable ones.

        The time is in milliseconds since the epoch. Entries of sessions that have expired are removed. With `before_ms`,
        sessions that were listed at that time or later are left out.
        """
        index = self.connections.index
        for session_id, listed_ms in index.iterate_listed(before_ms=before_ms):
            try:
                yield read_record("session", session_id, partial(self.get_live, session_id)), int(listed_ms)
            except SessionNotFound:
                index.unlist(session_id, listed_ms)

    def get_live(self, session_id: str, *, output_type: type[BaseModel] | None = None) -> CollabJob:
        """Return a session that Redis holds, with one lookup.

        Args:
            session_id: Its id.
            output_type: Class of its output.

        Raises:
            SessionNotFound: There is no such session.
        """
        return live_job(self.connections, session_id, output_type=output_type)


def session_opener(
    settings: Settings,
    store: SessionStore,
    index: SessionIndex,
    graph: TaskGraph,
    placing: Callable[[Submission], Submission],
) -> SessionOpener:
    """Return an opener of sessions with the options of the settings."""
    from ...tasks.sessions.opening import SessionOpener

    return SessionOpener(
        store=store,
        index=index,
        graph=graph,
        max_turns=settings.max_turns,
        max_message_bytes=settings.max_message_bytes,
        grace_ms=int(settings.redispatch_after_s * 1000),
        archive_in_ms=int(settings.archive_interval_s * 1000) if settings.archive else None,
        place=placing,
        max_attachment_bytes=settings.max_attachment_bytes,
        max_depth=settings.max_subsession_depth,
        records=settings.record_calls,
        can_recall=settings.archive or settings.recall_store is not None,
    )


def _task_placement(archive: Callable[[], Archive | None]) -> TaskPlacement:
    """Return the placement of sessions in tasks."""
    from ...workspace.placement import TaskPlacement

    return TaskPlacement(archive)


def _open_archive(settings: Settings, opened: ExitStack) -> Archive | None:
    """Return the archive, or None where none is kept; `opened` closes it."""
    archive = open_archive(settings)
    if archive is not None:
        opened.callback(archive.close)
    return archive
