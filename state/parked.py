"""Parked turns in Redis: laid aside, looked after, answered. No worker and no lock waits with them.

Like the verbs of `SessionStore`, these are idempotent: a client may retry a command whose
reply was lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue
from pydantic_core import to_json
from redis import Redis

from .accounts import Accounts, written
from .records import Answer, Grant, read_answer
from .requests import Speech
from .scripts import call_on_session, type_value

About = Mapping[str, JsonValue]

#: When a parked turn that waits for nothing but an answer is looked at: about never.
FAR_MS = 31_536_000_000


class Rule(StrEnum):
    """Who ends a wait, and when that is right."""

    #: Somebody answers, before the deadline.
    PERSON = "person"
    #: The deadline has passed.
    DEADLINE = "deadline"
    #: Nobody could be asked.
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class LayAside:
    """What a turn is parked with; times in milliseconds from now."""

    reply_token: str
    #: The `Waiting`, as JSON.
    wait: str
    #: None: until the session ends.
    until_in_ms: int | None
    wake_in_ms: int
    #: What this attempt has spent, and others that it has found.
    spent: Accounts = field(default_factory=dict)
    #: What the event says of it.
    about: About = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tending:
    """What was done for a parked turn; times in milliseconds since the epoch."""

    #: The `Waiting` as it is now, as JSON.
    wait: str
    wake_ms: int
    until_ms: int | None
    #: Type and data of the event that tells of it.
    event: str
    about: About = field(default_factory=dict)
    #: From now on only this one opens the turn; None: the one it has.
    new_token: str | None = None
    #: Recorded even if the wait has ended in the meantime: something was done outside.
    happened: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of a wait."""

    number: int
    reply_token: str
    #: Chosen by whoever replies: tells the same reply sent again from a second one.
    request: str
    rule: Rule
    #: Written as the turn's words; None: the turn is given back to the workers.
    speech: Speech | None = None
    #: Given back: the `Waiting` with what was answered, as JSON ...
    wait: str = ""
    #: ... the agent that takes the seat, when it is another one ...
    agent: str = ""
    #: ... and how the grant ended: `asked`, `reassigned` or `failed`.
    outcome: str = ""
    error: str = ""
    about: About = field(default_factory=dict)


class ParkedTurns:
    """The verbs of parked turns."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def park(self, session_id: str, grant: Grant, laid: LayAside) -> Answer:
        """Lays a turn aside: `parked`, `stale`, `done` or `missing`."""
        args: dict[str, type_value] = {
            "number": grant.number,
            "token": grant.token,
            "reply": laid.reply_token,
            "until_in_ms": "" if laid.until_in_ms is None else laid.until_in_ms,
            "wake_in_ms": laid.wake_in_ms,
            "wait": laid.wait,
            "about": to_json(laid.about),
            "spent": written(laid.spent),
        }
        return read_answer(
            session_id, call_on_session(self._client, "park", session_id, args, scope=grant.scope)
        )

    def tend(self, session_id: str, number: int, reply_token: str, done: Tending) -> Answer:
        """Writes down what was done for a parked turn: `tended`, `gone` or `missing`."""
        args: dict[str, type_value] = {
            "number": number,
            "reply": reply_token,
            "new_reply": done.new_token or reply_token,
            "until_ms": "" if done.until_ms is None else done.until_ms,
            "wake_ms": done.wake_ms,
            "wait": done.wait,
            "event": done.event,
            "about": to_json(done.about),
            "happened": "1" if done.happened else "",
        }
        return read_answer(session_id, call_on_session(self._client, "tend", session_id, args))

    def reply(self, session_id: str, reply: Reply) -> Answer:
        """Ends a wait: `replied`, `returned` or `held`.

        Or why not: `late`, `early`, `foreign`, `double`, `inactive`, `unknown` or `missing`.
        """
        speech = reply.speech
        args: dict[str, type_value] = {
            "number": reply.number,
            "reply": reply.reply_token,
            "request": reply.request,
            "rule": reply.rule.value,
            "kind": speech.kind.value if speech else "",
            "result": speech.result if speech else "",
            "error": speech.error if speech else reply.error,
            "wait": reply.wait,
            "agent": reply.agent,
            "outcome": reply.outcome,
            "about": to_json(reply.about),
        }
        messages = speech.messages if speech else ()
        return read_answer(
            session_id, call_on_session(self._client, "reply", session_id, args, rest=messages)
        )
