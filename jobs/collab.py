"""The job of a submitted session: everything of `ReadableJob`, steering, and answering questions.

What changes a session is imported when it is used: most commands only read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..models.attachments import Attachment, read_given
from ..models.errors import IllegalTransition, InvalidInput, RedisUnavailable, ResultTimeout, SessionNotFound
from ..models.protocol.collab import CollabStatus, Participant
from ..models.sessions.options import AgentBinding
from ..models.sessions.submission import Submission
from ..models.text.ids import derived_id, is_uuid4, new_id
from ..models.turns.waiting import Pending
from ..state.presence import AliveWorkers, all_agents
from ..state.worker_routes import warn_of_ignored_priority, warn_of_unserved
from ..tasks.views.session_views import SessionFacts
from .blocking import blocks_worker, check_blocking_wait
from .reading import Connections, ReadableJob, check_task, read_live_facts

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ..tasks.sessions.steering import SessionSteering

#: What a session did not do in time.
NO_QUESTION = "asked no question"


class CollabJob(ReadableJob):
    """One session. Every call reads its current state.

    All methods raise SessionNotFound when the session has expired, RedisUnavailable when Redis does not answer, and
    ClientClosed when the client is closed. With only the archive's copy (`is_live` is False), methods that change
    the session or wait for it raise NotLive.
    """

    def __init__(
        self, facts: SessionFacts, connections: Connections, *, output_type: type[BaseModel] | None = None
    ) -> None:
        super().__init__(facts, connections, output_type=output_type)
        #: Connections for new sessions.
        self._live_connections = connections

    # -- new sessions from this one ---------------------------------------------------------

    def continue_with(
        self,
        text: str,
        *,
        agents: Mapping[str, str | AgentBinding | Mapping[str, Any]] | None = None,
        owner: str | None = None,
    ) -> CollabJob:
        """Continue this session, which has ended, in a new session of its thread.

        The new session has the same participants, agents and options. Its agents see the messages of this session
        before those of the new one. `Client.submit(continues=...)` can change more.

        Args:
            text: The first message, said by the user. In a swarm, it is also the item of the new board.
            agents: Participants whose agents change.
            owner: Name of who submits the new session. None: no name is stored.

        Returns:
            The new session.

        Raises:
            InvalidInput: This session has not ended, or a value breaks a rule; nothing was written.
            RedisUnavailable: Nothing was written.
        """
        from .continuing import check_table, check_text, continued_submission

        check_text("text", text)
        check_table("agents", agents)
        self.state()
        given = {"messages": [text], "agents": {**self._facts.spec.agents, **(agents or {})}, "owner": owner}
        return submit_session(self._live_connections, continued_submission(self, given))

    def fork(
        self,
        *,
        at_turn: int,
        instruct: Mapping[str, str] | None = None,
        agents: Mapping[str, str | AgentBinding | Mapping[str, Any]] | None = None,
        owner: str | None = None,
    ) -> CollabJob:
        """Begin a new session of the same thread from the state before one of the turns of this session.

        Turns that ran side by side with that turn are planned again, too. This session is not changed.

        Args:
            at_turn: Number of the turn. The new session plans it again.
            instruct: Participant id -> an instruction in addition to those that this session gave its agent.
            agents: Participants whose agents change.
            owner: Name of who submits the new session. None: no name is stored.

        Returns:
            The new session.

        Raises:
            InvalidInput: There is no such turn or participant, the participants of this session changed while it
                ran, or its turns cannot be reconstructed; nothing was written.
            RedisUnavailable: Nothing was written.
        """
        from .continuing import ForkChanges, fork_submission

        submission = fork_submission(
            self, at_turn, ForkChanges(agents=agents, instruct=instruct, owner=owner)
        )
        return submit_session(self._live_connections, submission)

    # -- steering ---------------------------------------------------------------------------

    def activate(self, *, by: str = "user") -> None:
        """Start a session that was submitted with `draft=True`. Its deadline counts from now.

        Args:
            by: Actor recorded in the event.

        Raises:
            IllegalTransition: The session is not a draft.
        """
        from ..tasks.runtime.graph import ignore_broker_outage

        to = self._connections
        # As in `resume`: if the process dies in between, the sweep sends the first step.
        to.index.set_due_by(self.id, to.index.now_ms())
        to.index.live.add(self.id, self._facts.collab.mode)
        try:
            state = to.store.activate(self.id, by=by)
        except IllegalTransition as refused:
            if refused.current in (CollabStatus.COMPLETED, CollabStatus.CANCELLED):
                to.index.live.remove(self.id)
            raise
        to.index.set_due_by(self.id, state.now_ms)
        to.index.archive_soon(self.id)
        with ignore_broker_outage(self.id):
            to.graph.send_advance(self.id, first=True, sent_ms=state.now_ms, share=self._facts.spec.share)

    def suspend(self, *, by: str = "user") -> None:
        """Pause the session, with its sub-sessions. A turn that is running is held, and written at the resumption.

        Args:
            by: Actor recorded in the event.

        Raises:
            IllegalTransition: The session is not active.
        """
        from ..tasks.waiting.subsessions.tree import suspend_children

        state = self._connections.store.suspend(self.id, by=by)
        self._mark_suspended(suspended=True)
        self._connections.index.archive_soon(self.id)
        suspend_children(self._connections, state)

    def resume(self, *, by: str = "user") -> None:
        """Resume a suspended session, with the sub-sessions that were suspended with it.

        Args:
            by: Actor recorded in the event.

        Raises:
            IllegalTransition: The session is not suspended.
        """
        from ..tasks.planning.dispatch import resend_all
        from ..tasks.waiting.subsessions.tree import resume_children

        # Before and after: if the process dies in between, the sweep still checks the session soon.
        self._connections.index.set_due_by(self.id, self._connections.index.now_ms())
        self._mark_suspended(suspended=False)  # the sweep corrects it if the session stays suspended
        state = self._connections.store.resume(self.id, by=by)
        self._connections.index.set_due_by(self.id, state.now_ms)
        self._connections.index.archive_soon(self.id)
        resend_all(self._connections.graph, self._facts, state)
        resume_children(self._connections, state)

    def _mark_suspended(self, *, suspended: bool) -> None:
        self._connections.index.live.set_suspended(self.id, self._facts.collab.mode, suspended=suspended)

    def stop(self, *, by: str = "user") -> None:
        """Complete the session when the turns that are running have ended.

        Args:
            by: Actor recorded in the event.

        Raises:
            IllegalTransition: The session has already ended.
        """
        from ..tasks.waiting.parked_turn import read_all_questions
        from ..tasks.waiting.replies import request_planning

        state = self._connections.store.request_stop(self.id, by=by)
        self._connections.index.set_due_by(self.id, state.now_ms)
        self._connections.index.archive_soon(self.id)
        if read_all_questions(self._facts, state):  # no closing turn will request the next step
            request_planning(self._connections, state)

    def cancel(self, reason: str = "cancelled", *, by: str = "user") -> None:
        """Cancel the session at once, with its sub-sessions.

        Args:
            reason: The reason that the session's end records.
            by: Actor recorded in the event.

        Raises:
            IllegalTransition: The session has already ended.
        """
        from ..tasks.runtime.graph import report_dropped
        from ..tasks.waiting.subsessions.answers import answer_parent
        from ..tasks.waiting.subsessions.tree import cancel_children

        to = self._connections
        state = to.store.cancel(self.id, reason=reason, retention_ms=to.retention_ms, by=by)
        to.index.mark_cancelled(self.id)
        report_dropped(to.graph, state, state.records)
        cancel_children(to, state, detail="the parent was cancelled")
        if self._facts.spec.parent is not None:
            answer_parent(to, self._facts.spec.parent, state)

    def add_participant(
        self,
        participant: str | Participant | Mapping[str, Any],
        agent: str | AgentBinding | Mapping[str, Any] | None = None,
        *,
        by: str = "user",
        key: str | None = None,
    ) -> None:
        """Add a participant from the next round on.

        Args:
            participant: The participant; an id is enough.
            agent: Its agent. None: the agent of the participant's own name, `human` for a person.
            by: Actor recorded in the event.
            key: Idempotency key: of calls with the same key, one makes the change (of the newest 64 changes).

        Raises:
            InvalidInput: A session with this participant is not valid; nothing has changed.
            SessionEnded: The session has ended.
            NotAMember: The agent is no member of the conversation in which the session runs.
            ParticipantNotAdmittedError: The task in which the session runs has not admitted the agent.
        """
        self._create_steering(by, key).add_participant(participant, agent)

    def remove_participant(self, name: str, *, by: str = "user", key: str | None = None) -> None:
        """Remove a participant from the next round on.

        Args:
            name: Id of the participant.
            by: Actor recorded in the event.
            key: Idempotency key, as in `add_participant`.

        Raises:
            InvalidInput: The session cannot continue without the participant; nothing has changed.
            SessionEnded: The session has ended.
        """
        self._create_steering(by, key).remove_participant(name)

    def instruct(self, name: str, text: str, *, by: str = "user", key: str | None = None) -> None:
        """Replace the instructions of a participant's agent from its next turn on.

        Args:
            name: Id of the participant.
            text: The instructions.
            by: Actor recorded in the event.
            key: Idempotency key, as in `add_participant`.

        Raises:
            InvalidInput: A value breaks a rule; nothing has changed.
            SessionEnded: The session has ended.
        """
        self._create_steering(by, key).instruct(name, text)

    def post(
        self,
        text: str,
        *,
        role: str = "user",
        by: str = "user",
        key: str | None = None,
        attachments: Iterable[Path | Attachment] | None = None,
    ) -> None:
        """Post a message from outside. It is written after the turns that are running.

        Args:
            text: The message.
            role: `user` or `system`.
            by: Actor recorded in the event.
            key: Idempotency key, as in `add_participant`.
            attachments: Files of the message: each a `Path`, which is read now, or an `Attachment`.

        Raises:
            InvalidInput: A value breaks a rule; nothing has changed.
            SessionEnded: The session has ended.
        """
        files = read_given(attachments, max_bytes=self._connections.max_attachment_bytes)
        self._create_steering(by, key).post(text, role=role, attachments=files)

    def _create_steering(self, by: str, key: str | None) -> SessionSteering:
        from ..tasks.sessions.steering import SessionSteering

        request = new_id() if key is None else derived_id(key)
        to = self._connections
        return SessionSteering(to.redis, self.id, by, to.max_message_bytes, to.check_joining, request)

    # -- answering --------------------------------------------------------------------------

    def pending(self) -> tuple[Pending, ...]:
        """Return the open questions by turn number: turns of people, and what agents ask people."""
        from ..tasks.waiting.parked_turn import read_all_questions

        questions = read_all_questions(self._facts, self.state())
        return tuple(
            asked.pending()
            for asked in questions
            if asked.waiting.child is None and asked.waiting.batch_checks is None
        )

    def wait_for_question(self, timeout: float | None = None, *, allow_join: bool = False) -> Pending | None:
        """Wait until a question is open. Logs a warning when no worker is running.

        Args:
            timeout: Seconds to wait. None: no limit.
            allow_join: Wait also in a Celery task, as `result` does.

        Returns:
            The open question with the lowest turn number, also if an earlier call returned it. None: the session
            has ended.

        Raises:
            ResultTimeout: No question was asked in time; the session continues.
            WaitInTask: It would wait in a Celery task of a worker.
            WaitInTurn: It is called in the turn of an agent.
        """
        from .questions import follow_questions

        check_blocking_wait(self.id)
        if not allow_join and blocks_worker() and not self.pending():
            check_task(self)
        try:
            return next(follow_questions(self, self.pending, timeout_s=timeout), None)
        except ResultTimeout:
            raise ResultTimeout(self.id, timeout_s=timeout or 0, missed=NO_QUESTION) from None

    def questions(self, *, allow_join: bool = False) -> Iterator[Pending]:
        """Iterate over the questions that are asked, until the session ends. Logs a warning when no worker is running.

        A question that has a new addressee under a new reply token is another question.

        Args:
            allow_join: Wait also in a Celery task, as `result` does.

        Yields:
            Each question once, while it is open.

        Raises:
            WaitInTask: It is called in a Celery task of a worker, and the session has not ended.
            WaitInTurn: It is called in the turn of an agent.
        """
        from .questions import follow_questions

        check_blocking_wait(self.id)
        if not allow_join:
            check_task(self)
        return follow_questions(self, self.pending)

    def reply(
        self,
        name: str,
        text: str,
        *,
        token: str | None = None,
        turn: int | None = None,
        by: str | None = None,
    ) -> None:
        """Answer the open question to a participant.

        Args:
            name: Id of the participant who was asked.
            text: The answer.
            token: Reply token of the question.
            turn: Turn number of the question. One of `token` and `turn` is required if several questions are open.
            by: Actor who sends the answer, recorded in the event as `sent_by`. None: the person.

        Raises:
            InvalidInput: The text is blank, too long, or not one of the question's choices.
            ReplyRefused: No question waits for this answer, or it is not clear which; nothing has changed.
        """
        from ..tasks.waiting.replies import answer_question, find_question

        asked = find_question(self._facts, self.state(), name, turn=turn, token=token)
        answer_question(
            self._connections,
            asked,
            text,
            name=name,
            token=token,
            limit_bytes=self._connections.max_message_bytes,
            sent_by=by,
        )


def submit_session(to: Connections, submission: Submission) -> CollabJob:
    """Submit a session. The same `collab_id` again is the same session.

    Logs a warning when no worker is running.

    Raises:
        InvalidInput: One line with field, value and rule; nothing was written.
        SessionConflict: The id is taken by a session with other content.
        RedisUnavailable: Nothing was written, or the same submission may be repeated.
    """
    from ..tasks.sessions.opening import prepare

    try:
        alive = to.workers.list_recent()
    except RedisUnavailable:
        # Errors of the submission are reported first: the caller can correct them without Redis.
        prepare(submission, max_message_bytes=to.max_message_bytes)
        raise
    try:
        facts = to.find_opener().open(submission, known_agents=alive.agents)
    except InvalidInput:
        if alive.is_fresh:
            raise
        # A worker that has just started may know the agent.
        now_alive = to.workers.list_alive()
        alive = AliveWorkers(now_alive, all_agents(now_alive))
        facts = to.find_opener().open(submission, known_agents=alive.agents)
    workers = alive.workers
    if facts is None:
        job = live_job(to, submission.collab.collab_id, output_type=submission.output_type)
        if job.state().is_final:
            return job
    else:
        job = CollabJob(facts, to, output_type=submission.output_type)
    if submission.draft:
        return job
    to.watch_workers(f"session {job.id}").record_check(bool(workers))
    spec = job.spec if facts is None else facts.spec
    warn_of_ignored_priority(workers, [spec.priority], what=f"session {job.id}")
    warn_of_unserved(
        workers,
        [(bound.agent, bound.queue or "") for bound in spec.agents.values()],
        what=f"session {job.id}",
    )
    return job


def live_job(to: Connections, session_id: str, *, output_type: type[BaseModel] | None = None) -> CollabJob:
    """Return a session that Redis holds, with one lookup.

    Raises:
        SessionNotFound: There is no such session.
    """
    if not is_uuid4(session_id):  # not an id of a session: no Redis key must contain it
        raise SessionNotFound(session_id)
    return CollabJob(read_live_facts(to, session_id), to, output_type=output_type)
