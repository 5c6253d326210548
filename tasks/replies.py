"""Ending a wait: one reply, whoever it comes from, and the session goes on.

The reply and what follows from it are two steps. The due index has the session looked at soon
after, so whoever dies in between leaves it to the sweep.
"""

from __future__ import annotations

from typing import Protocol

from ..models.errors import InvalidInput, MessageTooLarge, ReplyRefused, SessionNotFound
from ..state.inbox import Inbox
from ..state.index import SessionIndex
from ..state.parked import ParkedTurns, Reply
from ..state.records import Answer, SessionState
from ..state.store import SessionStore
from .advance import dispatch
from .asked import Asked, all_asked
from .graph import TaskGraph, left_to_the_sweep
from .view import SessionFacts

#: Milliseconds until the sweep looks at a session that was replied to.
LOOK_IN_MS = 5_000
ENDED = ("replied", "returned", "held")
_REFUSALS = {
    "late": "late",
    "double": "double",
    "foreign": "foreign",
    "unknown": "unasked",
    "inactive": "ended",
    "missing": "ended",
}


class Office(Protocol):
    """Where replies are handed in: what a worker and a client both have."""

    @property
    def store(self) -> SessionStore:
        """The sessions."""
        ...

    @property
    def index(self) -> SessionIndex:
        """When they are looked at."""
        ...

    @property
    def graph(self) -> TaskGraph:
        """The queue."""
        ...


def find_asked(
    facts: SessionFacts, state: SessionState, name: str, *, turn: int | None = None, token: str | None = None
) -> Asked:
    """The one open question to `name`: of all, of that `turn`, or under that reply `token`.

    Raises ReplyRefused for none, and for several: whoever says neither turn nor token must not answer
    another question than they think of. Raises InvalidInput for what is no name, or no turn's number.
    """
    if not isinstance(name, str):
        raise InvalidInput("name", name, "must be a name")
    if turn is not None and not isinstance(turn, int):
        raise InvalidInput("turn", turn, "must be a turn's number")
    found = [it for it in all_asked(facts, state) if turn in (None, it.number) and name in it.waiting.asked]
    if len(found) > 1 and token is not None:
        found = [it for it in found if it.parking.reply_token == token] or found[:1]  # `answer` says: foreign
    if len(found) > 1:
        questions = {it.number: it.waiting.question.text or it.planned.expects for it in found}
        raise ReplyRefused(facts.session_id, name, "several", questions=questions)
    if found:
        return found[0]
    if state.is_final:
        raise ReplyRefused(facts.session_id, name, "ended")
    record = state.records.get(turn or 0)
    is_over = turn is not None and turn < state.next_number and not (record and record.is_open)
    raise ReplyRefused(facts.session_id, name, "double" if is_over else "unasked")


def answer(
    office: Office, asked: Asked, text: str, *, name: str, token: str | None, limit_bytes: int
) -> None:
    """Answers a question in the name of one who was asked; with `token`, only if it is the question's own.

    Raises:
        InvalidInput: the answer is blank, too long, or none of the choices.
        ReplyRefused: nobody waits for it (any more); nothing has changed.
    """
    _check(asked, text, limit_bytes=limit_bytes)
    if token is not None and token != asked.parking.reply_token:
        raise ReplyRefused(asked.facts.session_id, name, "foreign")
    word = end_wait(office, asked, asked.answered(text, by=name)).word
    if word == "missing":
        raise SessionNotFound(asked.facts.session_id)
    if word not in ENDED:
        raise ReplyRefused(asked.facts.session_id, name, _REFUSALS[word])


def end_wait(office: Office, asked: Asked, reply: Reply) -> Answer:
    """Hands in a reply and, when it was taken, sends the session on."""
    session_id = asked.facts.session_id
    office.index.sooner(session_id, asked.state.now_ms + LOOK_IN_MS)
    client = office.store.client
    result = ParkedTurns(client).reply(session_id, reply)
    if result.word in ENDED:
        Inbox(client).remove(asked.letters())
        _send_on(office, asked, result)
    return result


def plan_on(office: Office, state: SessionState) -> None:
    """Has some worker plan the session's next step; without a broker the sweep does."""
    with left_to_the_sweep(state.session_id):
        office.graph.send_advance(state.session_id, sent_ms=state.now_ms)


def _send_on(office: Office, asked: Asked, result: Answer) -> None:
    if result.state is None:
        return
    if result.word == "replied":
        plan_on(office, result.state)
    elif result.word == "returned":
        dispatch(office.graph, asked.facts, result.state, [asked.number])


def _check(asked: Asked, text: object, *, limit_bytes: int) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput("text", text, "must not be blank; PASS passes the turn")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInput("text", text, "must be text that UTF-8 can carry") from None
    if size > limit_bytes:
        raise MessageTooLarge(size, limit_bytes=limit_bytes, field="text")
    choices = asked.waiting.question.choices
    if choices and text.strip() not in choices:
        raise InvalidInput("text", text, f"must be one of {', '.join(choices)}")
