"""Parked turns in Redis: park, tend, reply. No worker and no lock waits with them.

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

from ..redis.scripts import ScriptValue, call_on_session
from ..sessions.records import Grant, ScriptAnswer, read_answer
from ..sessions.requests import TurnOutput
from ..sessions.usage_accounts import Accounts, format_accounts

EventData = Mapping[str, JsonValue]

#: Next check of a parked turn that waits for an answer only: practically never.
FAR_MS = 31_536_000_000


class ReplyRule(StrEnum):
    """Source of the end of a wait, and the condition for it."""

    #: An answer arrived before the deadline.
    PERSON = "person"
    #: The deadline has passed.
    DEADLINE = "deadline"
    #: There was no participant to ask.
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class ParkRequest:
    """Arguments of parking a turn; times in milliseconds from now."""

    reply_token: str
    #: The `ParkedQuestion`, as JSON.
    wait: str
    #: None: until the session ends.
    until_in_ms: int | None
    wake_in_ms: int
    #: Usage of this attempt, and of others that it has found.
    spent: Accounts = field(default_factory=dict)
    #: Data of the event.
    about: EventData = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ParkedUpdate:
    """Work done for a parked turn; times in milliseconds since the epoch."""

    #: The current `ParkedQuestion`, as JSON.
    wait: str
    wake_ms: int
    until_ms: int | None
    #: Type and data of the event.
    event: str
    about: EventData = field(default_factory=dict)
    #: The only valid reply token from now on; None: unchanged.
    new_token: str | None = None
    #: Recorded even if the wait has ended in the meantime: something was done outside.
    happened: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of a wait."""

    number: int
    reply_token: str
    #: Idempotency key, chosen by the caller.
    request: str
    rule: ReplyRule
    #: Written as the turn's output; None: the turn is returned to the workers.
    speech: TurnOutput | None = None
    #: For a returned turn: the `ParkedQuestion` with the answer, as JSON.
    wait: str = ""
    #: For a returned turn: the agent that takes it over, if it is another one.
    agent: str = ""
    #: For a returned turn: how the grant ended: `asked`, `reassigned` or `failed`.
    outcome: str = ""
    error: str = ""
    about: EventData = field(default_factory=dict)


class ParkedTurnStore:
    """The verbs of parked turns."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def park(self, session_id: str, grant: Grant, laid: ParkRequest) -> ScriptAnswer:
        """Park a turn: `parked`, `stale`, `done` or `missing`."""
        args: dict[str, ScriptValue] = {
            "number": grant.number,
            "token": grant.token,
            "reply": laid.reply_token,
            "until_in_ms": "" if laid.until_in_ms is None else laid.until_in_ms,
            "wake_in_ms": laid.wake_in_ms,
            "wait": laid.wait,
            "about": to_json(laid.about),
            "spent": format_accounts(laid.spent),
        }
        return read_answer(
            session_id, call_on_session(self._client, "parked/park", session_id, args, scope=grant.scope)
        )

    def update(self, session_id: str, number: int, reply_token: str, done: ParkedUpdate) -> ScriptAnswer:
        """Record the work done for a parked turn: `tended`, `gone` or `missing`."""
        args: dict[str, ScriptValue] = {
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
        return read_answer(session_id, call_on_session(self._client, "parked/update", session_id, args))

    def reply(self, session_id: str, reply: Reply) -> ScriptAnswer:
        """End a wait: `replied`, `returned` or `held`.

        Or why not: `late`, `early`, `foreign`, `double`, `inactive`, `unknown` or `missing`.
        """
        speech = reply.speech
        args: dict[str, ScriptValue] = {
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
            session_id, call_on_session(self._client, "parked/reply", session_id, args, rest=messages)
        )
