"""The answer of an ended sub-session to the turn of its parent.

The process that ends a sub-session answers its parent. If it dies before that, the sweep of the ended sub-session gives
it, because the sub-session stays in the due index until then; and the checks of the parked turn would find it, too.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, tee
from typing import TYPE_CHECKING

from pydantic import JsonValue

from ....models.errors import SessionNotFound
from ....models.protocol.collab import CollabStatus
from ....models.protocol.dialog import Message
from ....models.sessions.subsessions import ParentRef
from ....models.turns.turn import OutcomeKind, PanelAnswer, Usage
from ....state.redis.readers import StreamReader, converting_to_corrupt, read_object, read_stored
from ....state.redis.scripts import view_fields
from ....state.sessions.records import SessionState
from ....state.turns.parked import Reply, ReplyRule
from ...planning.decide import read_progress
from ...runtime.runtime import Boundary, Runtime
from ...turns.results import TurnEnd, describe_faults
from ...views.session_views import SessionFacts, read_facts
from ..model_batches import cancel_batches
from ..parked_turn import ParkedTurn, read_question
from ..replies import ReplyContext, end_wait, fail_parked_turn
from .tree import cancel_children

if TYPE_CHECKING:
    from ....archive.archive import Archive


log = logging.getLogger(__name__)


#: Reasons of an end after which the last message is the answer of the session.
_ANSWERED = frozenset({"satisfied", "approved"})
#: Maximum number of messages read for the answers of all, and of characters of each.
_MAX_READ = 200
_MAX_TEXT = 8_000


@dataclass(frozen=True, slots=True)
class ChildResult:
    """The result of an ended sub-session."""

    session_id: str
    usage: Usage
    #: Its last message; None: it has none of its turns.
    text: str | None = None
    #: Its output, or the data of this message.
    output: JsonValue = None
    #: Why it failed; empty: it was completed.
    error: str = ""
    #: Newest messages of all participants, if the last message is not the answer of all of them.
    answers: tuple[PanelAnswer, ...] = ()
    #: Why it ended.
    ended: str = ""


def answer_parent(context: ReplyContext, ref: ParentRef, state: SessionState) -> bool:
    """Answer the turn of the parent with the result of an ended sub-session.

    Args:
        context: Services of this process.
        ref: The turn of the parent.
        state: State of the sub-session.

    Returns:
        False: the turn does not wait for this sub-session.
    """
    store = context.store
    try:
        parent = store.state(ref.session_id)
        facts = read_facts(ref.session_id, store.documents(ref.session_id), parent.opened_ms)
    except SessionNotFound:
        return False
    parked = read_question(facts, parent, ref.turn)
    child = parked.waiting.child if parked else None
    if parked is None or child is None or child.session_id != state.session_id:
        return False
    give_answer(context, parked, read_result(context, state))
    return True


def read_result(context: ReplyContext, state: SessionState) -> ChildResult:
    """Return the result of an ended sub-session."""
    return _result(state, StreamReader(context.store.client).newest_first(state.session_id, "dialog"))


def _result(state: SessionState, newest_first: Iterable[tuple[str, str]]) -> ChildResult:
    session_id = state.session_id
    if state.status is not CollabStatus.COMPLETED:
        why = ": ".join(filter(None, (state.reason, state.detail))) or "cancelled"
        return ChildResult(session_id, state.usage, error=f"sub-session {session_id[:8]} failed: {why}"[:500])
    newest, rest = tee(_messages_of_turns(session_id, newest_first))
    messages = iter(newest)
    last = next(messages, None)
    if last is None:
        return ChildResult(session_id, state.usage)
    turn, output = _output_turn(state), last.output
    ended = state.reason or ""
    answers = () if turn is not None or ended in _ANSWERED else _answers_of_all(rest)
    if turn not in (None, last.turn_number):  # its output was given before its last message
        output = next(
            (
                message.output
                for message in messages
                if message.turn_number == turn and message.output is not None
            ),
            None,
        )
    return ChildResult(session_id, state.usage, last.content, output, answers=answers, ended=ended)


def _answers_of_all(newest_first: Iterable[Message]) -> tuple[PanelAnswer, ...]:
    """Return the newest message of each participant, oldest first; empty: only one has spoken."""
    answers: dict[str, str] = {}
    for message in islice(newest_first, _MAX_READ):
        if message.speaker is not None and message.asked_by is None:
            answers.setdefault(message.speaker, message.content[:_MAX_TEXT])
    listed = tuple(PanelAnswer(by=by, text=text) for by, text in reversed(answers.items()))
    return listed if len(listed) > 1 else ()


def _messages_of_turns(session_id: str, newest_first: Iterable[tuple[str, str]]) -> Iterator[Message]:
    for _, text in newest_first:
        message = read_stored(Message, text, session_id=session_id, part="dialog")
        if message.turn_number is not None:
            yield message


def _output_turn(state: SessionState) -> int | None:
    """Return the number of the turn that gave the output of a session; None: it has none."""
    kept = read_object(state.stop, session_id=state.session_id, part="stop")
    with converting_to_corrupt(state.session_id, "stop"):
        return read_progress(kept).turn


def read_archived_result(archive: Archive, session_id: str) -> ChildResult | None:
    """Return the result of an ended sub-session that only the archive has; None: it has none.

    Raises:
        ArchiveUnavailable: The archive does not answer.
    """
    try:
        fields = archive.reader.snapshot(session_id).fields
    except SessionNotFound:
        return None
    view_values = {name: fields.get(name) for name in view_fields()}
    state = SessionState(session_id, int(fields.get("updated_ms") or 0), view_values, {})
    if not state.is_final:
        return None
    return _result(state, archive.reader.entries(session_id, "dialog", newest_first=True))


def give_answer(context: ReplyContext, parked: ParkedTurn, result: ChildResult) -> TurnEnd:
    """End the wait of a turn with the result of its sub-session."""
    parked = replace(
        parked,
        child_usage={result.session_id: result.usage},
        child_answers=result.answers,
        child_ended=result.ended,
    )
    if not parked.waiting.is_own:
        return answer_call(context, parked, result.text, output=result.output, error=result.error)
    if result.error:
        return fail_parked_turn(context, parked, result.error, rule=ReplyRule.CHILD)
    if result.text is not None and (faults := parked.find_output_faults(result.text, result.output)):
        return fail_parked_turn(context, parked, describe_faults(faults), rule=ReplyRule.CHILD)
    if result.text is None:
        reply = parked.build_closing(OutcomeKind.PASSED, rule=ReplyRule.CHILD)
    else:
        reply = parked.build_answer(result.text, by=None, rule=ReplyRule.CHILD, output=result.output)
    return _end(context, parked, reply, f"answered by session {result.session_id[:8]}")


def answer_call(
    context: ReplyContext,
    parked: ParkedTurn,
    text: str | None,
    *,
    output: JsonValue = None,
    error: str = "",
) -> TurnEnd:
    """Return the turn to the workers, with the answer to the call of its agent; `error`: why there is none."""
    reply = parked.build_answer(text, by=None, rule=ReplyRule.CHILD, output=output, error=error)
    return _end(context, parked, reply, error or "the sub-session has answered")


def _end(context: ReplyContext, parked: ParkedTurn, reply: Reply, summary: str) -> TurnEnd:
    word = end_wait(context, parked, replace(reply, about={**reply.about, **_child_of(parked)}), summary).word
    log.debug("turn %s of %s: sub-session answered: %s", parked.number, parked.facts.session_id, word)
    return TurnEnd(word, summary)


def _child_of(parked: ParkedTurn) -> dict[str, str]:
    return {"session_id": parked.waiting.child.session_id} if parked.waiting.child else {}


class ParentsAndChildren:
    """The tree of the runtime: see `SessionTree`.

    A session stays in the due index until this was done, so the sweep repeats it after the death of a worker.
    """

    def settle_end(self, runtime: Runtime, facts: SessionFacts, state: SessionState) -> None:
        """End the sub-sessions and batches of a session that has ended, and answer its parent."""
        cancel_batches(runtime, state)
        cancel_children(runtime, state, detail="the parent has ended")
        ref = facts.spec.parent
        if ref is not None:
            runtime.fault_hook(Boundary.BEFORE_ANSWER, ref.session_id, ref.turn)
            answer_parent(runtime, ref, state)

    def settle_dropped(self, runtime: Runtime, state: SessionState) -> None:
        """End the sub-sessions and batches of dropped turns."""
        cancel_batches(runtime, state)
        cancel_children(runtime, state, detail="its turn is no longer needed")
