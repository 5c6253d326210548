"""Opening a session: checked as a whole, written once, and its first step asked for.

The same id again with the same content is the same session, so whoever died over it may open it once more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..models.errors import ConversationError, InvalidInput, MessageTooLarge, SessionNotFound
from ..models.plan import Totals
from ..models.spec import SessionSpec
from ..models.stop import MaxTurns
from ..models.submission import Submission
from ..state.index import SessionIndex
from ..state.requests import Opening
from ..state.store import SessionStore
from ..state.stored import read_stored
from .conversations.desk import as_id
from .graph import TaskGraph, left_to_the_sweep
from .planners import check_fit, effective_stop
from .view import SessionFacts

#: A session that is opened within so many milliseconds after it was entered is there before anybody misses it.
_SOON_MS = 60_000


def prepare(
    submission: Submission, *, known_agents: frozenset[str] = frozenset(), max_message_bytes: int
) -> Submission:
    """The submission with every gap filled, its parts checked by themselves and against each other; no server is asked.

    `known_agents` are the names that workers announced; empty when no worker was heard of.

    Raises:
        InvalidInput: the first rule that is broken, with its field and value.
    """
    prepared = submission.prepared(known_agents=known_agents, max_message_bytes=max_message_bytes)
    check_fit(
        prepared.collab.mode, prepared.collab.participants, options=prepared.options, stop=prepared.stop
    )
    return prepared


@dataclass(frozen=True, slots=True)
class SessionOpener:
    """Opens sessions in one installation."""

    store: SessionStore
    index: SessionIndex
    graph: TaskGraph
    #: Turns that any session may ask for.
    max_turns: int
    max_message_bytes: int
    #: Milliseconds after which the first step is asked for again.
    grace_ms: int
    #: Whether sessions are owed to an archive.
    archived: bool
    #: Places a prepared session in its task and conversation.
    place: Callable[[Submission], Submission]

    def open(
        self, submission: Submission, *, known_agents: frozenset[str] = frozenset()
    ) -> SessionFacts | None:
        """Opens what a session file says. None: it was there already, with the same content.

        Raises:
            InvalidInput: one line with field, value and rule; nothing was written.
            ConversationError: it may not run in its task, or not write into its conversation.
            SessionConflict: the id is taken by a session with other content.
            RedisUnavailable: nothing was written, or the same may be opened again.
        """
        prepared = prepare(submission, known_agents=known_agents, max_message_bytes=self.max_message_bytes)
        prepared = self._placed(prepared)
        collab = prepared.collab
        stop = effective_stop(collab.mode, prepared.stop) | MaxTurns(self.max_turns)
        spec = prepared.spec(stop)
        opening = Opening(
            collab=collab,
            spec=_written(spec, limit_bytes=self.max_message_bytes),
            digest=_digest(prepared, spec),
            messages=tuple(message.to_json() for message in prepared.messages),
            deadline_s=stop.remaining(Totals()).seconds,
            archived=self.archived,
        )
        return self._open(opening, spec)

    def _placed(self, prepared: Submission) -> Submission:
        try:
            return self.place(prepared)
        except (ConversationError, InvalidInput):
            # Once a session is open, what became of its conversation since is no reason to refuse it.
            if (placed := self._placed_before(prepared)) is None:
                raise
            return placed

    def _placed_before(self, prepared: Submission) -> Submission | None:
        """The submission where the session of its id stands already; None: there is none, or it stands elsewhere."""
        try:
            documents = self.store.documents(prepared.collab.collab_id)
        except SessionNotFound:
            return None
        spec = read_stored(SessionSpec, documents.spec, session_id=prepared.collab.collab_id, part="spec")
        asked = ((prepared.task, spec.task), (prepared.conversation, spec.conversation))
        if any(given is not None and as_id(given) != there for given, there in asked):
            return None
        if prepared.thread_id not in (None, spec.thread_id):
            return None
        return replace(prepared, task=spec.task, conversation=spec.conversation, thread_id=spec.thread_id)

    def _open(self, opening: Opening, spec: SessionSpec) -> SessionFacts | None:
        session_id = opening.collab.collab_id
        # Into the due index first: dying after this line leaves a look at nothing, dying after the
        # next one a session that the sweep will start.
        deadline_s = opening.deadline_s
        look_in_ms = self.grace_ms if deadline_s is None else min(self.grace_ms, int(deadline_s * 1000))
        entered_ms = self.index.add(session_id, look_in_ms=look_in_ms, archived=opening.archived)
        answer = self.store.open(opening)
        state = answer.state
        if state and state.opened_ms - entered_ms > _SOON_MS:
            # So late, or under an id that was listed before, its entries may have been taken for those of one that has expired.
            self.index.add(session_id, look_in_ms=look_in_ms, archived=opening.archived)
            self.index.list_at(session_id, state.opened_ms)
        if state is None or not state.version:
            # Also when it `exists`: that may be this very submission, whose first answer was lost.
            with left_to_the_sweep(session_id):
                self.graph.send_advance(session_id, first=True, sent_ms=state.now_ms if state else 0)
        if answer.word == "exists":
            return None
        return SessionFacts(opening.collab, spec, state.opened_ms if state else 0)


def _written(spec: SessionSpec, *, limit_bytes: int) -> str:
    where = "agents, options, policies and parameters"
    try:
        text = spec.model_dump_json(exclude_defaults=True)
    except ValueError as error:  # a lone surrogate somewhere
        raise InvalidInput(where, str(error), "must be text that UTF-8 can carry") from None
    if (size := len(text.encode())) > limit_bytes:
        raise MessageTooLarge(size, limit_bytes=limit_bytes, field=where)
    return text


def _digest(prepared: Submission, spec: SessionSpec) -> str:
    """The same for the same submission, whenever and wherever it was made."""
    # A collab that does not name its context belongs to a new one each time it is written down.
    made_anew = {"created_at", "updated_at", "meta", "events", "context_id"}
    content = {
        "collab": prepared.collab.model_dump(mode="json", exclude=made_anew),
        "spec": spec.model_dump(mode="json", exclude={"dialog_id", "stop"}),
        # Without the submitter's own cap on turns.
        "stop": None if prepared.stop is None else prepared.stop.to_data(),
        "messages": [[message.role, message.content] for message in prepared.messages],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
