"""Parked turns in Redis, and the inbox: the index of open questions by person.

A parked turn holds no worker and no lock. The methods are idempotent, like those of `SessionStore`: a
client may retry a command whose reply was lost.

The inbox has its own cluster slot, so no script can change it together with a session. It may contain
outdated entries: an entry is added before its turn is parked and removed after the answer. Readers check
the session and remove entries of closed questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import NamedTuple, Self, cast

from pydantic import JsonValue
from pydantic_core import to_json
from redis import Redis

from ..redis.due_index import add_or_renew, drop
from ..redis.formats import wait_format
from ..redis.keys import INBOX
from ..redis.readers import read_record
from ..redis.scripts import ScriptValue, call_on_session
from ..sessions.records import Grant, ScriptAnswer, read_answer
from ..sessions.requests import JournalNote, TurnOutput, format_notes
from ..sessions.turn_records import Accounts, TaskInfo, format_accounts

EventData = Mapping[str, JsonValue]

#: Milliseconds until the next check of a parked turn that waits only for an answer: a year, practically
#: never.
FAR_MS = 31_536_000_000


class ReplyRule(StrEnum):
    """Source of the end of a wait, with its condition."""

    #: An answer arrived before the deadline.
    PERSON = "person"
    #: The deadline has passed.
    DEADLINE = "deadline"
    #: No participant can be asked.
    FAILURE = "failure"
    #: A sub-session has ended.
    CHILD = "child"


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of a wait."""

    number: int
    reply_token: str
    #: Idempotency key, chosen by the caller.
    request: str
    rule: ReplyRule
    #: Output of the turn; None: the turn is returned to the workers.
    speech: TurnOutput | None = None
    #: For a returned turn: the `ParkedQuestion` with the answer, as JSON.
    wait: str = ""
    #: For a returned turn: its new agent; empty: unchanged.
    agent: str = ""
    #: For a returned turn: how the grant ended: `asked`, `reassigned` or `failed`.
    outcome: str = ""
    error: str = ""
    about: EventData = field(default_factory=dict)
    #: Usage of the sub-session that answers, by its id.
    spent: Accounts = field(default_factory=dict)


class ParkedTurnStore:
    """The verbs of parked turns."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def park(  # noqa: PLR0913 - arguments of the script
        self,
        session_id: str,
        grant: Grant,
        *,
        reply_token: str,
        wait: str,
        until_in_ms: int | None,
        wake_in_ms: int,
        about: EventData | None = None,
        spent: Accounts | None = None,
        task: TaskInfo | None = None,
        child: tuple[str, int, int] | None = None,
        batch: str = "",
        notes: Sequence[JournalNote] = (),
    ) -> ScriptAnswer:
        """Park a turn; return `parked`, `stale`, `done` or `missing`.

        Args:
            session_id: The session.
            grant: The grant of the turn.
            reply_token: Secret that permits an answer.
            wait: The `ParkedQuestion`, as JSON.
            until_in_ms: Milliseconds until the deadline of the answer; None: the end of the session.
            wake_in_ms: Milliseconds until the next check by a worker.
            about: Data of the event.
            spent: Usage of this attempt and of others that it has found, by their tokens.
            task: Celery task that parks the turn; None: monitors are not informed.
            child: Id of the sub-session that the turn waits for, with the tokens and the cost that stay reserved for it.
            batch: Handle of the provider's batch that the turn waits for.
            notes: Entries for the journal.
        """
        args: dict[str, ScriptValue] = {
            "number": grant.number,
            "token": grant.token,
            "reply": reply_token,
            "until_in_ms": "" if until_in_ms is None else until_in_ms,
            "wake_in_ms": wake_in_ms,
            "wait": wait,
            "about": to_json(about or {}),
            "spent": format_accounts(spent or {}),
            "task": task.id if task else "",
            "worker": task.worker if task else "",
            "notes": format_notes(notes),
            "batch": batch,
            "format": wait_format(wait),
        }
        raw = call_on_session(
            self._client, "parked/park", session_id, args, scope=grant.scope, rest=child or ()
        )
        return read_answer(session_id, raw)

    def update(  # noqa: PLR0913 - arguments of the script
        self,
        session_id: str,
        number: int,
        reply_token: str,
        *,
        wait: str,
        wake_ms: int,
        until_ms: int | None,
        event: str,
        about: EventData | None = None,
        new_token: str | None = None,
        happened: bool = False,
    ) -> ScriptAnswer:
        """Record the work done for a parked turn; return `tended`, `gone` or `missing`.

        Args:
            session_id: The session.
            number: Number of the turn.
            reply_token: Its reply token.
            wait: The current `ParkedQuestion`, as JSON.
            wake_ms: Time of the next check by a worker, in milliseconds since the epoch.
            until_ms: Deadline of the answer, in milliseconds since the epoch; None: the end of the session.
            event: Type of the event; empty: nothing is recorded.
            about: Data of the event.
            new_token: New reply token, which replaces the old one; None: unchanged.
            happened: Something was done outside, so it is recorded even if the wait has ended in the meantime.
        """
        args: dict[str, ScriptValue] = {
            "number": number,
            "reply": reply_token,
            "new_reply": new_token or reply_token,
            "until_ms": "" if until_ms is None else until_ms,
            "wake_ms": wake_ms,
            "wait": wait,
            "event": event,
            "about": to_json(about or {}),
            "happened": "1" if happened else "",
        }
        return read_answer(session_id, call_on_session(self._client, "parked/update", session_id, args))

    def reply(self, session_id: str, reply: Reply) -> ScriptAnswer:
        """End a wait; return `replied`, `returned` or `held`.

        Refusals: `late`, `early`, `foreign`, `double`, `inactive`, `unknown` or `missing`.
        """
        output = reply.speech
        args: dict[str, ScriptValue] = {
            "number": reply.number,
            "reply": reply.reply_token,
            "request": reply.request,
            "rule": reply.rule.value,
            "kind": output.kind.value if output else "",
            "result": output.result if output else "",
            "record": output.record if output else "",
            "error": output.error if output else reply.error,
            "wait": reply.wait,
            "agent": reply.agent,
            "outcome": reply.outcome,
            "about": to_json(reply.about),
            "spent": format_accounts(reply.spent) if reply.spent else "",
        }
        messages = output.messages if output else ()
        return read_answer(
            session_id, call_on_session(self._client, "parked/reply", session_id, args, rest=messages)
        )


#: Maximum number of indexed questions; the oldest ones beyond it can only be answered by their session.
KEPT = 100_000
_PAGE = 500


class InboxEntry(NamedTuple):
    """One question to one person."""

    session_id: str
    turn_number: int
    name: str

    @classmethod
    def parse(cls, member: str) -> Self:
        """Return the entry of a member. Raises ValueError for one that another program wrote."""
        session_id, number, name = member.split("|", 2)
        return cls(session_id, int(number), name)

    def member(self) -> str:
        """Return the member of the sorted set for this question."""
        return f"{self.session_id}|{self.turn_number}|{self.name}"


class Inbox:
    """Index of open questions by the time they were asked."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(self, inbox_entries: Iterable[InboxEntry], *, at_ms: int) -> None:
        """Add or renew questions that were asked at `at_ms`, in milliseconds since the epoch."""
        members = [inbox_entry.member() for inbox_entry in inbox_entries]
        if members:
            add_or_renew(self._client, INBOX, members, at_ms)
            self._client.zremrangebyrank(INBOX, 0, -KEPT - 1)

    def remove(self, inbox_entries: Iterable[InboxEntry]) -> None:
        """Remove questions."""
        members = [inbox_entry.member() for inbox_entry in inbox_entries]
        if members:
            self._client.zrem(INBOX, *members)

    def list_entries(
        self, name: str | None = None, *, after: tuple[float, str] | None = None
    ) -> Iterator[tuple[InboxEntry, float]]:
        """Yield questions with their times, oldest first.

        The index is read in parts, so the cost depends on the questions that the caller takes.

        Args:
            name: The person who was asked; None: anybody.
            after: Time and member (`InboxEntry.member`) of the question to continue after; None: from the start.
        """
        last, tied = after or (0.0, ""), 0
        while page := self._read(last[0], tied):
            # Those with the time of the last one are read again, because a removal in between moves the others.
            new = [(at_ms, member) for member, at_ms in page if (at_ms, member) > last]
            tied = 0 if new else tied + len(page)
            for at_ms, member in new:
                last = at_ms, member
                entry = read_record("entry of the inbox", member, partial(InboxEntry.parse, member))
                if isinstance(entry, InboxEntry) and name in (None, entry.name):
                    yield entry, at_ms
            if len(page) < _PAGE:
                return

    def remove_closed(self, inbox_entry: InboxEntry, at_ms: float) -> None:
        """Remove a closed question, unless it was added again after it was read."""
        drop(self._client, INBOX, inbox_entry.member(), at_ms)

    def _read(self, low: float, skipped: int) -> list[tuple[str, float]]:
        answer = self._client.zrangebyscore(
            INBOX, repr(low), "+inf", start=skipped, num=_PAGE, withscores=True
        )
        return cast("list[tuple[str, float]]", answer)
