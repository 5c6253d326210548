"""Methods of a client for sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ..archive.results import ResultPage, SessionFilter
from ..jobs.collab import CollabJob
from ..jobs.progress import as_completed
from ..jobs.reading import facts_of
from ..models.errors import InvalidInput, NotRestorable, SessionNotFound
from ..models.protocol.collab import Collab
from ..models.sessions.how_to_run import HowToRun, check_no_inputs
from ..models.turns.waiting import Pending
from ..state.redis.readers import Unreadable
from .base import BaseClient
from .submitting import list_options, name_index, read_session, read_submission, resolve_session_files

if TYPE_CHECKING:
    from ..replay.comparing import SessionComparison
    from ..replay.replay import ReplayResult


class SessionMethods(BaseClient):
    """The methods of a client that submit and find sessions."""

    @list_options
    def submit(
        self, collab: Collab | Mapping[str, Any] | Path | None = None, **options: Unpack[HowToRun]
    ) -> CollabJob:
        """Submit a session. The same `collab_id` again is the same session.

        Logs a warning when no worker is running.

        Args:
            collab: What the session is about and who takes part, or the `Path` of a session file, whose options apply
                unless others are given. A text is no path: data from outside cannot open a file. None, with
                `continues`: as in that session, like each option that is not given.
            agents: The agent of each participant id: a registered name, a name with overrides, or a sub-session
                `{"session": "panel.yaml"}`, a session file or a table of its fields. Default: the agent of the
                participant's own name, `human` for a person.
            approvers: Names of people without turns who may be asked, and who decide approvals.
            observers: Names of people without turns who may be asked.
            stop: Stop condition in addition to the rules of the mode: a condition, or `{"max_rounds": 3}`.
            options: Options of the mode.
            items: Swarm: the work items at the start, instead of `options["items"]`.
            reducer: Swarm: the participant that closes the board with one more turn, instead of
                `options["reducer"]`.
            policy: Failure policy.
            policies: Failure policies of single participants, by id.
            limits: Limits of one turn, such as `{"turn_tokens": 2_000, "turn_usd": 0.05}`.
            tenant: The tenant that pays. The settings of the workers limit what a tenant may spend per day.
            priority: `high`, `normal` or `low`: which turns of the tenant's sessions workers take first (docs/limits.md). A
                broker without lanes ignores it. None: `normal`.
            owner: Name of who submitted it. None: no name is stored.
            messages: The first messages of the dialog. A text is a message of the user.
            parameters: Data that every agent gets.
            thread_id: Id of a group of dialogs.
            continues: The id of a session that has ended. The new one is in its thread, and its agents see the
                messages of that session before those of the new dialog.
            task: The id of the task in which the session runs. Its agents must be admitted there.
            conversation: The id of the conversation that gets the messages, too. Its agents must be members.
            protocol: Format of turns: `alignment` keeps a ledger and ends when all have converged.
            output: What the session must give as data: a pydantic model class, or a JSON schema. `result.output`
                is an object of this class, or JSON data.
            output_by: The participant who gives it. Default: the aggregator, the orchestrator or the navigator;
                in other modes the speaker of the last turn.
            record: Whether model requests and tool calls are recorded, so that `replay` can repeat the session.
                None: the setting `record_calls` decides.
            draft: Whether the session waits for `job.activate()`, and can be changed or cancelled until then. None:
                it starts at once. A session that exists stays what it is.
            inputs: Values of the inputs of the session file, by name: texts, numbers, True or False.
            attachments: Files of the first message: each a `Path`, which is read now, or an `Attachment`. Without a
                message, one of the user names them.
            recall: Whose long-term memory the turns use and add to: `user` (that of `user_id`), `room` (of `room_id`, or
                else the conversation, the task or the thread) or `tenant`. None: no long-term memory.
            on_end: A Celery signature that is sent when the session has ended, with the result as first argument, or a
                URL that gets it in a signed request; under an id derived from that of the session: see docs/celery.md.
            user_id: The user whose parameters the turns remember and use.
            room_id: The room of these parameters. Default: the conversation, the task, the thread or the session.
            service: The service of these parameters, such as `travel`.
            said: Parameters of the message that the session is about; or the message, which the registered parser reads
                (`register_parser`). Without `messages`, it is also the first message.
            defaults: Parameters that apply if the user has given no others.

        Returns:
            The session.

        Raises:
            InvalidInput: One line with field, value and rule; nothing was written.
            SessionConflict: The id is taken by a session with other content.
            RedisUnavailable: Nothing was written, or the same submission may be repeated.
        """
        if collab is None:
            return self._continue(options)
        return self._submit(read_submission(collab, options, self.settings))

    def _continue(self, options: HowToRun) -> CollabJob:
        """Submit a session like the one that it continues."""
        from ..jobs.continuing import continued_submission

        if (continues := options.pop("continues", None)) is None:
            raise InvalidInput("collab", None, "must be given, unless `continues` names a session")
        check_no_inputs(options)
        resolve_session_files(options, self.settings)
        return self._submit(continued_submission(self.get_job(continues), options))

    def submit_many(self, sessions: Iterable[Collab | Mapping[str, Any]]) -> list[CollabJob]:
        """Submit many sessions in few round trips.

        All are checked before the first is written. Each one is submitted as `submit` does it: completely or not
        at all, and the same `collab_id` again is the same session. Logs one warning when no worker is running.

        Args:
            sessions: For each session a collab, or a table of the arguments of `submit`, such as
                `{"collab": collab, "messages": ["Hello"]}` or `{"collab": path, "inputs": {"topic": "doors"}}`. All are held in memory: submit a million in parts.

        Returns:
            The sessions, in the same order.

        Raises:
            InvalidInput: One line with the index of the session, field, value and rule, such as
                `sessions[3].title: ...`; nothing was written.
            SessionConflict: An id is taken by a session with other content; nothing was written.
            PartlySubmitted: Redis failed after some sessions were submitted. The error lists the ids.
            RedisUnavailable: Nothing was written.
        """
        if isinstance(sessions, str | Mapping) or not isinstance(sessions, Iterable):
            raise InvalidInput("sessions", sessions, "must be a list")
        submissions = []
        for index, given in enumerate(sessions):
            with name_index(index):
                submissions.append(read_session(given, self.settings))
        if (local := self._eager()) is not None:
            return [local.submit_and_wait(submission) for submission in submissions]
        return self._parts.sessions.submit_many(submissions, name_in_errors=name_index)

    def get_job(self, session_id: str) -> CollabJob:
        """Return a session that was submitted before, in any process: the live one, or else the archived one.

        Args:
            session_id: Its id, or the first 8 or more characters if no other session's id starts with them.

        Returns:
            The session.

        Raises:
            AmbiguousId: Several sessions have ids that start with this.
            InvalidInput: The id is shorter than 8 characters.
            SessionNotFound: There is no such session, or it has expired.
            ArchiveUnavailable: It is not live, and the archive does not answer.
            RedisUnavailable: Redis does not answer, and the archive has no such session that has ended.
        """
        sessions = self._parts.sessions
        return sessions.get(sessions.find_id(session_id))

    def jobs(self, *, count: int = 20, offset: int = 0) -> list[CollabJob]:
        """Return live sessions, newest first.

        Args:
            count: Maximum number of sessions.
            offset: Number of sessions to skip. They are read, too.

        Returns:
            The sessions, without those that have expired or cannot be read.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return list(islice(self.each_job(), offset, offset + count))

    def each_job(self) -> Iterator[CollabJob]:
        """Iterate over all live sessions, newest first. Each is read when the iterator gets to it.

        Sessions that cannot be read are left out, such as those that a newer version wrote; each is logged once.

        Yields:
            The next session.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        jobs = (job for job, _ in self._parts.sessions.iterate_live())
        yield from (job for job in jobs if not isinstance(job, Unreadable))

    def as_completed(
        self, jobs: Iterable[CollabJob], *, timeout: float | None = None, progress: bool | None = None
    ) -> Iterator[CollabJob]:
        """Iterate over jobs as their sessions end, as `symposia.as_completed` does.

        Args:
            jobs: The jobs, such as those of `submit_many`.
            timeout: Seconds to wait for all of them. None: no limit.
            progress: Whether a progress bar is shown. None: in a notebook, and if standard error is a terminal.

        Yields:
            Each job once, when its session has ended: `job.result()` does not wait then.

        Raises:
            InvalidInput: `jobs` contains something else.
            ResultTimeout: A session has not ended in time; it continues.
            WaitInTurn: It is called in the turn of an agent.
        """
        return as_completed(jobs, timeout=timeout, progress=progress)

    def find_thread(self, thread_id: str) -> str:
        """Return the id of a thread.

        Args:
            thread_id: The id of a thread or of any of its sessions, or the first 8 or more characters of the latter.

        Raises:
            AmbiguousId: Several sessions have ids that start with this.
            InvalidInput: The id is shorter than 8 characters.
            SessionNotFound: It is short, and there is no such session.
        """
        whole_id = self._parts.sessions.find_id(thread_id)
        try:
            return self.get_job(whole_id).spec.thread_id or whole_id
        except SessionNotFound:  # the id of a task, or of a thread whose first session has expired
            return whole_id

    def thread(self, thread_id: str) -> list[CollabJob]:
        """Return the sessions of a thread, live and archived, oldest first.

        Args:
            thread_id: As in `find_thread`.

        Raises:
            AmbiguousId, InvalidInput, SessionNotFound: As in `find_thread`.
            ArchiveUnavailable: The archive does not answer.
            RedisUnavailable: Redis does not answer.
        """
        wanted, sessions = self.find_thread(thread_id), self._parts.sessions
        live = {job.id: job for job in self.each_job() if wanted in (job.id, facts_of(job).spec.thread_id)}
        archived = [
            session_id
            for session_id in sessions.iterate_archived(SessionFilter(thread_id=wanted))
            if session_id not in live
        ]
        jobs = [*live.values(), *map(sessions.get, archived)]
        return sorted(jobs, key=lambda job: facts_of(job).opened_ms)

    def inbox(self, name: str | None = None, *, limit: int = 100) -> list[Pending]:
        """Return the open questions of all sessions, oldest first.

        Args:
            name: The participant who was asked. None: anybody.
            limit: Maximum number of questions.

        Returns:
            The questions. `CollabJob.reply` answers one.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return list(self.inbox_page(name, limit=limit).items)

    def inbox_page(
        self, name: str | None = None, *, limit: int = 100, after: str | None = None
    ) -> ResultPage[Pending]:
        """Return one page of the open questions of all sessions, oldest first.

        Args:
            name: The participant who was asked. None: anybody.
            limit: Maximum number of questions.
            after: The `cursor` of the page before. None: the first page.

        Returns:
            The questions, and the cursor of the next page, None after the last one.

        Raises:
            InvalidInput: The cursor is not valid.
            RedisUnavailable: Redis does not answer.
        """
        from .building.inbox import question_page

        return question_page(self._parts.sessions, name, limit=limit, after=after)

    def replay(self, session_id: str, *, rerun: Iterable[str] = ()) -> ReplayResult:
        """Replay a recorded session in this process, with the agents as they are now.

        Planners and model agents run again. Their model requests and tool calls are answered from the record: no
        request is sent, no tool is called, and nothing is written. People, programs and Python callables keep
        their recorded outcomes.

        Args:
            session_id: As in `get_job`.
            rerun: Participants whose agents run again in any case, with their effects: Python callables and
                programs.

        Returns:
            What was replayed.

        Raises:
            NotRecorded: The session was submitted without `record`.
            ReplayDiffers: The first difference: another prompt, call, message, or planned turn.
            InvalidInput: `rerun` contains a name that is no participant.
            SessionNotFound: There is no such session, or it has expired.
            RegistryError: The agents file breaks a rule.
            ArchiveUnavailable: The archive does not answer.
            RedisUnavailable: Redis does not answer, and the archive has no such session that has ended.
        """
        from .building.runtime import replay

        job, reader = self.get_job(session_id), self._parts.sessions.reader()
        return replay(job, reader, self.settings, rerun=tuple(rerun))

    def compare(self, first: str, second: str) -> SessionComparison:
        """Compare two sessions: where their dialogs first differ, their ends, and what they spent.

        Args:
            first: As in `get_job`.
            second: As in `get_job`.

        Returns:
            Both sessions side by side.

        Raises:
            SessionNotFound: There is no such session, or it has expired.
            ArchiveUnavailable: A session is not live, and the archive does not answer.
            RedisUnavailable: Redis does not answer, and the archive has no such session that has ended.
        """
        from ..replay.comparing import compare_jobs

        return compare_jobs(self.get_job(first), self.get_job(second), self._parts.sessions.reader())

    def restore(self, session_id: str) -> CollabJob:
        """Continue an unfinished session that Redis has lost, from its last archived turn.

        Args:
            session_id: As in `get_job`.

        Returns:
            The session, which is live again.

        Raises:
            SessionNotFound: The archive does not have it.
            NotRestorable: It has ended, is live, or no archive is kept.
            ArchiveUnavailable: The archive does not answer.
            RedisUnavailable: Redis does not answer.
        """
        from ..tasks.sessions.restore import restore

        sessions = self._parts.sessions
        if sessions.archive is None:
            raise NotRestorable(session_id, why="the archive is disabled (SYMPOSIA_ARCHIVE)")
        whole_id, to = sessions.find_id(session_id), sessions.connections
        restore(sessions.archive, to.redis, to.graph, whole_id)
        return sessions.get_live(whole_id)
