"""Submitting sessions and finding them again.

    from symposia import Collab, Participant, submit

    job = submit(Collab(title="...", purpose="...", mode="pair", participants=[...]), agents={...})
    for message in job.messages(follow=True):
        print(message.speaker, message.content)

Everything is checked before anything is written. What is queued runs when a worker is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property, lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Unpack

from .config.settings import Settings, load_settings
from .job import CollabJob, Connections
from .models.collab import Collab
from .models.errors import NotRestorable, RedisUnavailable, SessionNotFound
from .models.ids import is_uuid4
from .models.submission import HowToRun, Submission
from .models.waiting import Pending
from .reviews.job import ReviewJob
from .reviews.ordering import HowToReview, order_of_files
from .reviews.schedule_checks import check_names
from .reviews.schedule_tasks import send_word
from .reviews.schedules import Schedules
from .reviews.session_orders import HowToReviewSessions, order_of_sessions
from .reviews.starting import start
from .state.connect import connect
from .state.inbox import Inbox, Letter
from .state.index import SessionIndex
from .state.schedules import ScheduleBook
from .state.store import SessionStore
from .state.tenants import Spent, TenantBooks
from .state.worker_watch import WorkerWatch
from .state.workers import WorkerBook, common_agents
from .tasks.conversations.together import Placing
from .tasks.graph import TaskGraph
from .tasks.opening import prepare
from .tasks.restoring import restore
from .tasks.view import read_facts
from .workers.archive import open_archive
from .workers.connection import redis_url_in_use
from .workers.conversations import open_conversations
from .workers.making import create_app
from .workers.memory import dialog_memory
from .workers.reviewing import build_office, session_opener

if TYPE_CHECKING:
    from pathlib import Path

    from celery import Celery

    from .archive.archive import Archive
    from .archive.reader import ArchiveReader
    from .reviews.office import Office
    from .tasks.conversations.service import Conversations


class Client:
    """One Symposia installation: a Redis, a broker, and the sessions there."""

    def __init__(
        self, settings: Settings | None = None, *, app: Celery | None = None, worker_grace_s: float = 0.0
    ) -> None:
        """Connect lazily.

        Args:
            settings: None: of this process.
            app: a Celery app that sends the tasks.
            worker_grace_s: seconds without a running worker before a call that waits logs a warning; above 0,
                `submit` logs none.
        """
        self.settings = settings or load_settings()
        self.redis_url = redis_url_in_use(self.settings)
        self._sender = app or create_app(self.settings)
        # Nothing here holds the client itself: when it is dropped, its connections are closed at once.
        self._opened = cache(partial(open_archive, self.settings))
        redis = connect(self.redis_url)
        self.workers = WorkerBook(redis)
        self._to = Connections(
            redis=redis,
            redis_url=self.redis_url,
            store=SessionStore(redis),
            index=SessionIndex(redis),
            graph=TaskGraph(self._sender),
            retention_ms=self.settings.retention_s * 1000,
            max_message_bytes=self.settings.max_message_bytes,
            check_joining=Placing(self._opened).check_joining,
            watch_workers=partial(WorkerWatch, self.workers, grace_s=worker_grace_s),
        )
        self._opener = session_opener(self.settings, self._to.store, self._to.index, self._to.graph)
        #: What is done at set times.
        self.schedules = Schedules(
            ScheduleBook(redis), partial(send_word, self._sender), partial(check_names, workers=self.workers)
        )
        #: What is remembered of users, room by room.
        self.memory = dialog_memory(self.settings)

    def submit(self, collab: Collab | Mapping[str, Any], **how: Unpack[HowToRun]) -> CollabJob:
        """Submits a session. The same `collab_id` again is the same session.

        Args:
            collab: what the session is about and who takes part.
            how: agents, stop conditions, options, failure policies, ...: see `HowToRun`.

        Raises:
            InvalidInput: one line with field, value and rule; nothing was written.
            SessionConflict: the id is taken by a session with other content.
            RedisUnavailable: nothing was written, or the same submit may be repeated.
        """
        return self.submit_all(Submission.build(collab, **how))

    def submit_all(self, submission: Submission) -> CollabJob:
        """Submit what a session file says. Logs a warning when no worker is running."""
        try:
            workers = self.workers.alive()
        except RedisUnavailable:
            # What is wrong with the submission can be mended without a Redis, and comes first.
            prepare(submission, max_message_bytes=self.settings.max_message_bytes)
            raise
        facts = self._opener.open(submission, known_agents=common_agents(workers))
        if facts is None:
            job = self.get_live_job(submission.collab.collab_id)
            if job.state().is_final:
                return job
        else:
            job = CollabJob(facts, self._to)
        self._to.watch_workers(f"session {job.id}").take(bool(workers))
        return job

    def review(self, *paths: str | Path, **how: Unpack[HowToReview]) -> ReviewJob:
        """Has a panel review files on this machine, each in a session of its own; no path: the working folder.

        Args:
            paths: files and folders.
            how: panel, model, revisions, patterns, ...: see `HowToReview`.

        Raises:
            InvalidInput: one line with field, value and rule; nothing begins.
            RedisUnavailable, ArchiveUnavailable: nothing begins.
        """
        order = order_of_files(paths, archive=self.archive, known_agents=self.known_agents(), **how)
        return self._begun(start(self.office, order))

    def review_sessions(self, *ids: str, **how: Unpack[HowToReviewSessions]) -> ReviewJob:
        """Has a panel review archived sessions by their transcripts; no id: those that have ended, the newest first.

        Args:
            ids: sessions of the archive.
            how: panel, model, tag, participant, ...: see `HowToReviewSessions`.

        Raises:
            InvalidInput: one line with field, value and rule; nothing begins.
            SessionNotFound: one that is named is not in the archive.
            RedisUnavailable, ArchiveUnavailable: nothing begins.
        """
        order = order_of_sessions(ids, archive=self.archive, known_agents=self.known_agents(), **how)
        return self._begun(start(self.office, order))

    def get_review(self, batch_id: str) -> ReviewJob:
        """A review started before, here or elsewhere; its methods raise ReviewNotFound."""
        return ReviewJob(batch_id, self.office, watch_workers=self._to.watch_workers)

    def _begun(self, batch_id: str) -> ReviewJob:
        self._to.watch_workers(f"review {batch_id}").look()
        return self.get_review(batch_id)

    @cached_property
    def office(self) -> Office:
        """What brings reviews forward."""
        return build_office(self._sender, self.settings, redis_url=self.redis_url)

    def get_job(self, session_id: str) -> CollabJob:
        """Return a session submitted before, here or elsewhere: the live one, or else the archived one.

        Raises:
            SessionNotFound: neither has it.
            ArchiveUnavailable: it is not live, and the archive does not answer.
            RedisUnavailable: Redis does not answer, and the archive has no such session that has ended.
        """
        try:
            return self.get_live_job(session_id)
        except SessionNotFound:
            reader = self.archived()
            if reader is None:
                raise
        except RedisUnavailable:
            # What the archive has of a session that has ended is all of it; what it has of another may be old.
            reader = self.archived()
            if reader is None or not reader.has_ended(session_id):
                raise
        from .workers.archived import ArchivedJob

        return ArchivedJob(session_id, reader, self._to)

    @property
    def archive(self) -> Archive | None:
        """Sessions in SQL; None: none is kept. Connects lazily."""
        return self._opened()

    @cached_property
    def conversations(self) -> Conversations:
        """Tasks, and the conversations inside them. Raises ArchiveError: no archive is kept, and they live there."""
        return open_conversations(self.settings, self.archive)

    def archived(self) -> ArchiveReader | None:
        """Reads the archive; None: there is none (yet). Raises ArchiveUnavailable."""
        return None if self.archive is None else self.archive.to_read()

    def restore(self, session_id: str) -> CollabJob:
        """Lets an unfinished session that Redis has lost go on from its last archived turn.

        Raises:
            SessionNotFound: the archive does not have it.
            NotRestorable: it has ended, is live, or no archive is kept.
        """
        if self.archive is None:
            raise NotRestorable(session_id, why="no archive is kept (SYMPOSIA_ARCHIVE)")
        restore(self.archive, self._to.redis, self._to.graph, session_id)
        return self.get_live_job(session_id)

    def get_live_job(self, session_id: str) -> CollabJob:
        """A session that Redis holds: one lookup, whatever the id. Raises SessionNotFound."""
        if not is_uuid4(session_id):  # no session has such an id, and no key is made of it
            raise SessionNotFound(session_id)
        state = self._to.store.state(session_id)
        facts = read_facts(session_id, self._to.store.documents(session_id), state.opened_ms)
        return CollabJob(facts, self._to)

    def jobs(self, *, count: int = 20, offset: int = 0) -> list[CollabJob]:
        """Live sessions, newest first; those that have expired are left out. The first `offset` are read, too."""
        return list(islice(self.each_job(), offset, offset + count))

    def each_job(self) -> Iterator[CollabJob]:
        """All live sessions, newest first, each read when it is asked for."""
        for session_id, listed_ms in self._to.index.listed():
            try:
                job = self.get_live_job(session_id)
            except SessionNotFound:
                self._to.index.unlist(session_id, listed_ms)
            else:
                yield job

    def inbox(self, name: str | None = None, *, limit: int = 100) -> list[Pending]:
        """Open questions of all sessions, oldest first: those to `name`, or to anybody."""
        inbox = Inbox(self._to.redis)
        found: dict[tuple[str, int], Pending] = {}
        for letter, at_ms in inbox.letters(name):
            if len(found) >= limit:
                break
            question = self._question(letter)
            if question is None:
                if self._is_over(letter):
                    inbox.strike(letter, at_ms)
            else:
                found[question.session_id, question.turn_number] = question
        # Another session's question may have been parked between the entry of this one and its parking.
        return sorted(found.values(), key=lambda question: question.asked_at)

    def _is_over(self, letter: Letter) -> bool:
        """Nobody will ask this any more. A turn that is about to be parked has its letter already."""
        try:
            state = self._to.store.state(letter.session_id)
        except SessionNotFound:
            return True
        record = state.records.get(letter.turn_number)
        return state.is_final or record is None or not record.is_open

    def _question(self, letter: Letter) -> Pending | None:
        """What a letter is about; None: it is over, or not asked yet."""
        try:
            questions = self.get_live_job(letter.session_id).pending()
        except SessionNotFound:
            return None
        return next(
            (it for it in questions if it.turn_number == letter.turn_number and letter.name in it.asked), None
        )

    def tenant(self, name: str) -> Spent:
        """What a tenant has spent since midnight (UTC), turns under way left out."""
        return TenantBooks(self._to.redis).today(name)

    def ids(self, prefix: str) -> list[str]:
        """Return the ids of live and archived sessions that begin with `prefix`.

        Raises:
            RedisUnavailable: Redis does not answer, and the archive has no such id.
        """
        reader = self.archived()
        archived = reader.ids(prefix) if reader else []
        try:
            listed = [it for it, _ in self._to.index.listed(page_size=10_000) if it.startswith(prefix)]
        except RedisUnavailable:
            if not archived:
                raise
            return archived
        return list(dict.fromkeys([*listed, *archived]))

    def known_agents(self) -> frozenset[str]:
        """Names of the agents that every worker knows, since any of them may be given a turn.

        Empty when no worker was heard of lately.
        """
        return self.workers.known_agents()


def default_client() -> Client:
    """The client of this process's own settings; another one once another Redis is in use."""
    return _client_of(redis_url_in_use(load_settings()))


@lru_cache(maxsize=1)
def _client_of(_redis_url: str) -> Client:
    return Client()


def submit(collab: Collab | Mapping[str, Any], **how: Unpack[HowToRun]) -> CollabJob:
    """Submits a session with this process's own settings: see `Client.submit`."""
    return default_client().submit(collab, **how)


def get_job(session_id: str) -> CollabJob:
    """A session submitted before, here or elsewhere. Raises SessionNotFound."""
    return default_client().get_job(session_id)
