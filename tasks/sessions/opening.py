"""Opening of a session: checks of the submission, the write, dispatch of the first step.

The same id with the same content is the same session, so opening may be repeated after a crash.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...models.attachments import ATTACHMENTS, DEFAULT_BYTES, FULL, Attachment, check_attachments
from ...models.errors import (
    ConversationError,
    InvalidInput,
    MessageTooLarge,
    SessionConflict,
    SessionNotFound,
    within,
)
from ...models.modes import check_mode_options, effective_stop, mode_of
from ...models.protocol.base import Trace
from ...models.protocol.collab import CollabStatus
from ...models.sessions.known_agents import PRICE_ADVICE, KnownAgents
from ...models.sessions.plan import Totals
from ...models.sessions.spec import SessionSpec
from ...models.sessions.stop_conditions import MaxTurns
from ...models.sessions.submission import Submission
from ...models.sessions.subsession_limits import MAX_DEPTH
from ...models.sessions.subsessions import check_depth
from ...models.text.ids import normalize_id, session_span_uuid
from ...state.redis.readers import read_stored
from ...state.sessions.attachments import AttachmentStore
from ...state.sessions.index import SessionIndex
from ...state.sessions.opened import open_sessions
from ...state.sessions.records import ScriptAnswer, SessionState
from ...state.sessions.requests import Opening
from ...state.sessions.store import SessionStore
from ...state.steps import StepIndex, end_check_ms
from ..ports import active_span
from ..runtime.graph import FirstStep, TaskGraph, ignore_broker_outage
from ..views.session_views import SessionFacts

log = logging.getLogger(__name__)


#: As `json.dumps` with sorted keys.
_SORTED = json.JSONEncoder(sort_keys=True)


def prepare(
    submission: Submission, *, known_agents: frozenset[str] = frozenset(), max_message_bytes: int
) -> Submission:
    """Return the submission with defaults, after checks of its parts and their combination, without a server.

    `known_agents`: names that workers announced; empty if no worker announced any.

    Raises:
        InvalidInput: The first broken rule, with its field and value.
    """
    prepared = submission.prepare(known_agents=known_agents, max_message_bytes=max_message_bytes)
    check_mode_options(
        prepared.collab.mode, prepared.collab.participants, options=prepared.options, stop=prepared.stop
    )
    for name, binding in prepared.agents.items():
        if binding.session is not None:
            where = f"agents.{name}.session"
            nested = Submission.of_subsession(binding.session, where)
            with within(where):
                prepare(nested, known_agents=known_agents, max_message_bytes=max_message_bytes)
    return prepared


def _warn_of_built_in(submission: Submission, prepared: Submission, known_agents: frozenset[str]) -> None:
    """Log each participant that has a built-in agent only because it has the agent's name."""
    for name in KnownAgents.read(known_agents).built_in & (prepared.agents.keys() - submission.agents.keys()):
        if prepared.agents[name].agent == name:
            log.warning(
                "participant %s uses the built-in agent of this name; if that is meant, say agents={%r: %r},"
                " else register an agent %s",
                *(name, name, name, name),
            )


def _refuse_unpriced(prepared: Submission, known_agents: frozenset[str]) -> None:
    """Refuse a cost budget that does not count the turns of a participant.

    Raises:
        InvalidInput: The message names the participant, and the line that its model lacks.
    """
    unpriced = KnownAgents.read(known_agents).unpriced
    for name, binding in prepared.agents.items():
        if binding.agent in unpriced:
            rule = f"must have a price for each of its models, because the session has a cost budget: {PRICE_ADVICE}"
            raise InvalidInput(f"agents.{name}.agent", binding.agent, rule)


@dataclass(frozen=True, slots=True)
class PlannedOpening:
    """A session that may be opened: its submission was checked."""

    opening: Opening
    spec: SessionSpec
    #: Attachments of its first message, with their data.
    attachments: tuple[Attachment, ...] = ()

    @property
    def session_id(self) -> str:
        """Return the id of the session."""
        return self.opening.collab.collab_id


@dataclass(frozen=True, slots=True)
class SessionOpener:
    """Opening of sessions in one installation."""

    store: SessionStore
    index: SessionIndex
    graph: TaskGraph
    #: Maximum number of turns that a session may request.
    max_turns: int
    max_message_bytes: int
    #: Milliseconds after which the first step is dispatched again.
    grace_ms: int
    #: Milliseconds after which a session is archived for the first time; None: sessions are not archived.
    archive_in_ms: int | None
    #: Assigns a prepared session to its task and conversation.
    place: Callable[[Submission], Submission]
    max_attachment_bytes: int = DEFAULT_BYTES
    #: Maximum number of sessions above a sub-session.
    max_depth: int = MAX_DEPTH
    #: Whether a session is recorded whose submission does not say it.
    records: bool = False
    #: Whether there is a store for long-term memory.
    can_recall: bool = True

    def open(
        self,
        submission: Submission,
        *,
        known_agents: frozenset[str] = frozenset(),
        submitted_in: str | None = None,
    ) -> SessionFacts | None:
        """Open the session of a submission. Return None if it exists already with the same content.

        `submitted_in`: as in `plan_opening`.

        Raises:
            InvalidInput: One line with field, value and rule; nothing was written.
            ConversationError: The session may not run in its task, or not write to its conversation.
            SessionConflict: The id belongs to a session with other content.
            RedisUnavailable: Nothing was written, or the same submission may be opened again.
        """
        planned = self.plan_opening(submission, known_agents=known_agents, submitted_in=submitted_in)
        facts = self.write([planned])[0]
        if isinstance(facts, SessionConflict):
            raise facts
        return facts

    def plan_opening(
        self,
        submission: Submission,
        *,
        known_agents: frozenset[str] = frozenset(),
        submitted_in: str | None = None,
    ) -> PlannedOpening:
        """Check a submission, and return what `write` writes.

        Args:
            submission: The session.
            known_agents: Names that workers announced; empty if no worker announced any.
            submitted_in: Span in which it is submitted; None: the active one.

        Raises:
            InvalidInput: One line with field, value and rule.
            ConversationError: The session may not run in its task, or not write to its conversation.
            RedisUnavailable: Redis does not answer.
        """
        self._check_depth(submission)
        check_attachments(submission.attachments, max_bytes=self.max_attachment_bytes)
        prepared = prepare(submission, known_agents=known_agents, max_message_bytes=self.max_message_bytes)
        self._check_recall(prepared)
        _warn_of_built_in(submission, prepared, known_agents)
        prepared = self._assign(prepared)
        if prepared.record is None and self.records:
            prepared = prepared.model_copy(update={"record": True})
        collab = prepared.collab
        stop = effective_stop(collab.mode, prepared.stop) | MaxTurns(self.max_turns)
        budget = stop.remaining(Totals())
        if budget.cost_micros is not None or prepared.limits.turn_usd is not None:
            _refuse_unpriced(prepared, known_agents)
        roles = mode_of(collab.mode).roles(collab, prepared.options)
        spec = prepared.spec(stop, roles, submitted_in=submitted_in or active_span())
        opening = Opening(
            collab=collab
            if collab.trace
            else collab.model_copy(update={"trace": _session_trace(collab.collab_id)}),
            spec=_format_spec(spec, limit_bytes=self.max_message_bytes),
            digest=_digest(prepared, spec),
            messages=tuple(message.to_json() for message in prepared.messages),
            deadline_s=budget.seconds,
            archived=self.archive_in_ms is not None,
            parent=f"{prepared.parent.session_id}|{prepared.parent.turn}" if prepared.parent else "",
            start=prepared.start,
            draft=prepared.draft,
        )
        return PlannedOpening(opening, spec, prepared.attachments)

    def _check_recall(self, prepared: Submission) -> None:
        if prepared.recall is None:
            return
        if not self.can_recall:
            rule = "requires an archive (SYMPOSIA_ARCHIVE=true) or another store (SYMPOSIA_RECALL_STORE)"
            raise InvalidInput("recall", prepared.recall.by.value, rule)
        prepared.recall.scope(prepared.tenant)

    def _check_depth(self, submission: Submission) -> None:
        left = self.max_depth - (submission.parent.depth if submission.parent else 0)
        for name, binding in submission.agents.items():
            if binding.session is not None:
                check_depth(binding.session, f"agents.{name}.session", left=left)

    def _assign(self, prepared: Submission) -> Submission:
        try:
            return self.place(prepared)
        except (ConversationError, InvalidInput):
            # Later changes of the conversation are no reason to refuse the submission of an open session.
            if (placed := self._assigned_before(prepared)) is None:
                raise
            return placed

    def _assigned_before(self, prepared: Submission) -> Submission | None:
        """Return the submission if its session exists.

        None if it does not, or exists with another placement.
        """
        try:
            documents = self.store.documents(prepared.collab.collab_id)
        except SessionNotFound:
            return None
        spec = read_stored(SessionSpec, documents.spec, session_id=prepared.collab.collab_id, part="spec")
        placements = ((prepared.task, spec.task), (prepared.conversation, spec.conversation))
        if any(given is not None and normalize_id(given) != there for given, there in placements):
            return None
        if prepared.thread_id not in (None, spec.thread_id):
            return None
        placement = {"task": spec.task, "conversation": spec.conversation, "thread_id": spec.thread_id}
        return prepared.model_copy(update=placement)

    def write(self, planned: Sequence[PlannedOpening]) -> list[SessionFacts | SessionConflict | None]:
        """Open sessions with different ids in few round trips, and send the messages of their first steps.

        Returns:
            The facts of each session; None: it exists already with the same content; SessionConflict: with
            other content.

        Raises:
            RedisUnavailable: Some of them may have been opened. The call may be repeated.
        """
        self._store_attachments(planned)
        self._expect_ends(planned)
        answers = open_sessions(
            self.store.client,
            [(one.opening, self._first_check_ms(one.opening)) for one in planned],
            archive_in_ms=self.archive_in_ms,
        )
        # Also if it `exists`: an earlier call with this submission may have lost its answer.
        first = [
            FirstStep(one.session_id, state.now_ms, one.spec.share)
            for one, answer in zip(planned, answers, strict=True)
            if (state := answer.state) and _begins(state)
        ]
        if first:
            with ignore_broker_outage(*(step.session for step in first)):
                self.graph.send_first_steps(first)
        return [_result(one, answer) for one, answer in zip(planned, answers, strict=True)]

    def _store_attachments(self, planned: Sequence[PlannedOpening]) -> None:
        """Store the attachments of sessions that do not exist yet; without a session they expire.

        Raises:
            InvalidInput: Attachments of another submission with the same id, which was not opened, need the room.
        """
        store = AttachmentStore(self.store.client)
        for planned_opening in planned:
            for attachment in planned_opening.attachments:
                if store.add(planned_opening.session_id, attachment, is_early=True) == "full":
                    raise InvalidInput(ATTACHMENTS, attachment.name, FULL)

    def _expect_ends(self, planned: Sequence[PlannedOpening]) -> None:
        """Let the sweep of steps check sessions with `on_end`: workers of release 0.1.0 send nothing at their ends.

        A step of a canvas was registered before.
        """
        ids = [
            one.session_id for one in planned if one.spec.on_end is not None and one.spec.on_end.task is None
        ]
        if ids:
            StepIndex(self.store.client).expect_ends(ids, in_ms=end_check_ms(self.grace_ms))

    def _first_check_ms(self, opening: Opening) -> int:
        deadline_s = opening.deadline_s
        return self.grace_ms if deadline_s is None else min(self.grace_ms, int(deadline_s * 1000))


def _begins(state: SessionState) -> bool:
    return not state.version and not state.is_final and state.status is not CollabStatus.DRAFT


def _result(planned: PlannedOpening, answer: ScriptAnswer) -> SessionFacts | SessionConflict | None:
    if answer.word == "conflict":
        return SessionConflict(planned.session_id)
    if answer.word == "exists":
        return None
    state = answer.state
    return SessionFacts(planned.opening.collab, planned.spec, state.opened_ms if state else 0, opened=state)


def _session_trace(session_id: str) -> Trace:
    """Return the trace of a session; see `models/text/ids.py`."""
    # Not validated: both ids are valid.
    return Trace.model_construct(trace_id=session_id, span_id=session_span_uuid(session_id))


def _format_spec(spec: SessionSpec, *, limit_bytes: int) -> str:
    where = "agents, options, policies and parameters"
    try:
        text = spec.model_dump_json(exclude_defaults=True)
    except ValueError as error:  # the text contains a lone surrogate
        raise InvalidInput(where, str(error), "must be valid UTF-8 text") from None
    if (size := len(text.encode())) > limit_bytes:
        raise MessageTooLarge(size, limit_bytes=limit_bytes, field=where)
    return text


def _digest(prepared: Submission, spec: SessionSpec) -> str:
    """Return a digest that is the same for the same submission, independent of time and place."""
    # A collab without a context id gets a new one at each write.
    made_anew = {"created_at", "updated_at", "meta", "events", "context_id"}
    # A session without an output keeps the digest that it had before sessions could have one.
    absent: dict[str, Any] = {} if spec.output else {"output": True}
    if spec.options.broadcaster is None:  # the same for an option that was added
        absent["options"] = {"broadcaster"}
    content: dict[str, Any] = {
        "collab": prepared.collab.model_dump(mode="json", exclude=made_anew),
        "spec": spec.model_dump(
            mode="json", exclude=dict.fromkeys(("dialog_id", "stop", "submitted_in", "record"), True) | absent
        ),
        # Without the turn limit of the submitter.
        "stop": None if prepared.stop is None else prepared.stop.to_data(),
        "messages": [[message.role, message.content] for message in prepared.messages],
    }
    if prepared.attachments:  # a session without attachments keeps the digest of earlier versions
        content["attachments"] = [attachment.model_dump(mode="json") for attachment in prepared.attachments]
    return hashlib.sha256(_SORTED.encode(content).encode()).hexdigest()
