"""Answers of the session scripts: views of the session, grants and shortfalls.

`planner` and `stop` are not parsed here; they stay the JSON text that was written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ...models.errors import CorruptSession, InvalidInput
from ...models.protocol.collab import CollabStatus
from ...models.protocol.dialog import DialogStatus
from ...models.turns.turn import Usage
from ..redis.readers import Entry, converting_to_corrupt
from ..redis.scripts import view_fields
from .requests import Claim
from .turn_records import TurnRecord, TurnRecords, read_amounts

T = TypeVar("T")


def read_number(text: str, *, session_id: str, field: str) -> int:
    """Return a whole number from a field of the session.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    return read_field(int, text, session_id=session_id, field=field, rule="must be a whole number")


def read_field(kind: Callable[[str], T], text: str, *, session_id: str, field: str, rule: str) -> T:
    """Return a field of the session, converted by `kind`.

    Raises:
        CorruptSession: The field breaks a rule; the error names the rule.
    """
    try:
        return kind(text)
    except ValueError:
        detail = str(InvalidInput(field, text, rule))
        raise CorruptSession(session_id, part="session", detail=detail) from None


class SessionState:
    """View of a session at one instant; its size is O(open turns), independent of the length of the dialog.

    Every answer contains a view, of which few fields are used, so fields are converted on access. Each
    property raises CorruptSession for a field that Symposia did not write.
    """

    __slots__ = ("_fields", "_records", "_turns", "_usage", "now_ms", "session_id")

    def __init__(
        self, session_id: str, now_ms: int, fields: Mapping[str, str | None], turns: Mapping[str, str]
    ) -> None:
        self.session_id = session_id
        #: Time of the view by the server's clock, in milliseconds since the epoch.
        self.now_ms = now_ms
        self._fields = fields
        self._turns = turns
        self._records: TurnRecords | None = None
        self._usage: Usage | None = None

    def _int(self, name: str) -> int:
        text = self._fields[name] or "0"
        try:
            return int(text)
        except ValueError:
            return read_number(text, session_id=self.session_id, field=name)  # raises CorruptSession

    def _moment(self, name: str) -> int | None:
        return None if self._fields[name] is None else self._int(name)

    @property
    def status(self) -> CollabStatus:
        """Status of the collab."""
        text, rule = self._fields["status"] or "", "must be a status of a collab"
        return read_field(CollabStatus, text, session_id=self.session_id, field="status", rule=rule)

    @property
    def dialog_status(self) -> DialogStatus:
        """Status of the dialog."""
        text, rule = self._fields["dialog_status"] or "", "must be a status of a dialog"
        return read_field(DialogStatus, text, session_id=self.session_id, field="dialog_status", rule=rule)

    @property
    def version(self) -> int:
        """Number of plans and stop requests; a plan is valid for one version only."""
        return self._int("version")

    @property
    def closed(self) -> int:
        """Number of closed turns, passes and skips included."""
        return self._int("closed")

    @property
    def skipped(self) -> int:
        """Number of closed turns that were skipped."""
        return self._int("skipped")

    @property
    def next_number(self) -> int:
        """Number of the next planned turn."""
        return self._int("next")

    @property
    def fence(self) -> int:
        """The newest fencing number."""
        return self._int("fence")

    @property
    def rounds(self) -> int:
        """Number of completed rounds when the newest plan was made."""
        return self._int("rounds")

    @property
    def ends_round(self) -> bool:
        """Whether a round ends when all open turns have closed."""
        return self._fields["ends_round"] == "1"

    @property
    def planner(self) -> str:
        """State of the planner, as JSON."""
        return self._fields["planner"] or "{}"

    @property
    def stop(self) -> str:
        """State of the stop conditions, as JSON."""
        return self._fields["stop"] or "{}"

    @property
    def usage(self) -> Usage:
        """Usage so far."""
        if self._usage is None:
            with converting_to_corrupt(self.session_id, "session"):
                self._usage = read_amounts([self._int(name) for name in Usage.model_fields])
        return self._usage

    @property
    def messages(self) -> int:
        """Number of messages in the dialog."""
        return self._int("messages")

    @property
    def opened_ms(self) -> int:
        """Opening time of the session, in milliseconds since the epoch."""
        return self._int("opened_ms")

    @property
    def started_ms(self) -> int:
        """Time at which the session was activated, in milliseconds since the epoch: of most, the opening time."""
        return self._moment("started_ms") or self.opened_ms

    @property
    def updated_ms(self) -> int:
        """Time of its last change, in milliseconds since the epoch."""
        return self._int("updated_ms")

    @property
    def ended_ms(self) -> int | None:
        """Time of its end, in milliseconds since the epoch; None: it has not ended."""
        return self._moment("ended_ms")

    @property
    def deadline_ms(self) -> int | None:
        """Deadline of the session by real time, in milliseconds since the epoch; None: no deadline."""
        return self._moment("deadline_ms")

    @property
    def stop_requested(self) -> bool:
        """Whether a stop was requested."""
        return self._fields["stop_requested"] == "1"

    @property
    def planned_by(self) -> str | None:
        """Id of the newest plan, chosen by its planner."""
        return self._fields["planned_by"]

    @property
    def edition(self) -> int:
        """Number of changes of its settings; 0: it was never steered."""
        return self._int("edition")

    @property
    def reason(self) -> str | None:
        """Reason of its end; None: it has not ended."""
        return self._fields["reason"]

    @property
    def detail(self) -> str | None:
        """Details of the reason of its end."""
        return self._fields["detail"]

    @property
    def actor(self) -> str | None:
        """Who made the newest change of its status; None: no person, or unknown."""
        return self._fields.get("actor")

    @property
    def records(self) -> TurnRecords:
        """Turns that are open or not yet consumed by a plan, in the order of their numbers."""
        if self._records is None:
            self._records = TurnRecords(self.session_id, self._turns)
        return self._records

    @property
    def format(self) -> str | None:
        """Version of the format of the session, as stored; None: 1."""
        return self._fields["format"]

    @property
    def is_final(self) -> bool:
        """Return whether it is completed or cancelled, so that nothing more is written."""
        return self.status in (CollabStatus.COMPLETED, CollabStatus.CANCELLED)

    def open_turns(self) -> list[TurnRecord]:
        """Return the turns that are planned, speaking or held, by number."""
        return [r for r in self.records.all() if r.is_open]

    @property
    def awaited_agents(self) -> tuple[str, ...]:
        """Agents of its open turns that no worker can run, each once."""
        return tuple(dict.fromkeys(turn.lacks for turn in self.open_turns() if turn.lacks is not None))

    def unconsumed(self) -> list[TurnRecord]:
        """Return the turns closed since the last plan, by number."""
        return [r for r in self.records.all() if r.status == "closed"]


class Shortfall(NamedTuple):
    """Amount of a limit that a turn needs and cannot get, because no reservation will be released."""

    #: `tokens` or `cost` (millionths of a US dollar).
    unit: str
    left: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Grant:
    """The right to run one turn, valid while its lease is renewed."""

    number: int
    scope: str
    token: str
    fence: int
    #: Number of grants of this turn, including this one.
    grants: int
    #: Number of failures of the turn's current agent.
    failures: int
    #: Number of expired leases of this turn, for any agent.
    takeovers: int
    #: Agent that replaces the participant's own agent after its last failed attempt.
    substitute: str | None
    #: The newest messages that the turn may see, oldest first.
    messages: tuple[Entry, ...]
    #: Whether the previous grant ended because its lease expired.
    took_over: bool = False
    #: Whether `messages` has only those after the message that the worker had seen.
    continues: bool = False
    #: Whether a reader of live text is registered.
    has_reader: bool = False


@dataclass(frozen=True, slots=True)
class ScriptAnswer:
    """Answer of a verb: its status word, its view if it has one, and further values."""

    word: str
    state: SessionState | None = None
    #: Numbers of turns that were planned now, or that must be dispatched.
    numbers: tuple[int, ...] = ()
    grant: Grant | None = None
    #: Time of the next check by the sweep, or of the retry of a failed turn, in milliseconds since the epoch.
    due_ms: int | None = None
    #: True: a step is complete, and the next one has not been planned.
    advance: bool = False
    #: True: due work is not sent again, because the earlier message may still be in the queue.
    held: bool = False
    #: For a swept sub-session: id of its parent; empty for any other session.
    parent: str = ""
    #: Amount that a turn requested and can never get.
    shortfall: Shortfall | None = None
    #: Usage of attempts booked by this call; None: nothing to book, or an earlier call booked it.
    booked: Usage | None = None


def read_state(
    session_id: str, now_ms: int, values: Sequence[str | None], flat: Sequence[str]
) -> SessionState:
    """Return a view from an answer of `view` in `lua/lib/view.lua`."""
    fields = dict(zip(view_fields(), values, strict=True))
    return SessionState(session_id, now_ms, fields, dict(zip(flat[::2], flat[1::2], strict=True)))


def read_answer(session_id: str, raw: list[Any], claim: Claim | None = None) -> ScriptAnswer:
    """Return the answer of a verb; `claim`: the grant request of `begin`, or of `commit`."""
    word = raw[0]
    if len(raw) < 4:
        return ScriptAnswer(word)
    state = read_state(session_id, raw[1], raw[2], raw[3])
    extra = _read_extra(word, raw[4], claim) if len(raw) > 4 else {}
    if len(raw) > 6 and claim is not None:
        extra["grant"] = _read_grant(extra["numbers"][0], claim, raw[6])
    return ScriptAnswer(word, state, booked=read_amounts(raw[5]) if len(raw) > 5 else None, **extra)


def _read_grant(number: int, claim: Claim, values: Any) -> Grant:
    fence, grants, failures, takeovers, agent, newest_first, took_over, continues, readers = values
    return Grant(
        number=number,
        scope=claim.scope,
        token=claim.token,
        fence=fence,
        grants=grants,
        failures=failures,
        takeovers=takeovers,
        substitute=agent or None,
        messages=tuple((entry_id, fields[1]) for entry_id, fields in reversed(newest_first)),
        took_over=took_over == 1,
        continues=continues == 1,
        has_reader=readers == 1,
    )


def _read_extra(word: str, extra: Any, claim: Claim | None) -> dict[str, Any]:
    """Return the further values of an answer, by the names of its fields."""
    if word == "granted" and claim is not None and extra is not None:
        return {"grant": _read_grant(claim.number, claim, extra)}
    if word in ("retried", "deferred"):
        return {"due_ms": extra}
    if word == "exhausted" and extra is not None:
        return {"shortfall": Shortfall(*extra)}
    if word == "swept" and extra is not None:
        due_ms, numbers, advance, held, parent = extra
        fields = {"numbers": tuple(numbers), "due_ms": due_ms, "advance": advance == 1, "held": held == 1}
        return {**fields, "parent": parent}
    return {"numbers": tuple(extra or ())}
