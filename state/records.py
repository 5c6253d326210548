"""What the verbs answer, as values: the session as it was in the instant of the script.

Nothing here is interpreted: `planner` and `stop` stay the JSON text that their owners wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..models.collab import CollabStatus
from ..models.dialog import DialogStatus
from ..models.turn import Usage
from .accounts import read_amounts
from .requests import Claim
from .scripts import view_fields
from .stored import read_number, read_word, told_as_corrupt
from .turn_records import Records, TurnRecord


class SessionState:
    """A view of a session: O(open turns), whatever the length of its dialog.

    Made for every answer and seldom read whole, so fields are converted when they are asked for. Each
    property raises CorruptSession for a field that Symposia did not write.
    """

    __slots__ = ("_fields", "_records", "_turns", "now_ms", "session_id")

    def __init__(
        self, session_id: str, now_ms: int, fields: Mapping[str, str | None], turns: Mapping[str, str]
    ) -> None:
        self.session_id = session_id
        #: The server's clock when the view was taken, milliseconds since the epoch.
        self.now_ms = now_ms
        self._fields = fields
        self._turns = turns
        self._records: Records | None = None

    def _int(self, name: str) -> int:
        return read_number(self._fields[name] or "0", session_id=self.session_id, field=name)

    def _moment(self, name: str) -> int | None:
        return None if self._fields[name] is None else self._int(name)

    @property
    def status(self) -> CollabStatus:
        """Status of the collab."""
        text, rule = self._fields["status"] or "", "must be a status of a collab"
        return read_word(CollabStatus, text, session_id=self.session_id, field="status", rule=rule)

    @property
    def dialog_status(self) -> DialogStatus:
        """Status of the dialog."""
        text, rule = self._fields["dialog_status"] or "", "must be a status of a dialog"
        return read_word(DialogStatus, text, session_id=self.session_id, field="dialog_status", rule=rule)

    @property
    def version(self) -> int:
        """Counts plans (and stop requests); a plan made for one version applies to no other."""
        return self._int("version")

    @property
    def closed(self) -> int:
        """Turns closed so far, passes and skips included."""
        return self._int("closed")

    @property
    def skipped(self) -> int:
        """Closed turns that were skipped."""
        return self._int("skipped")

    @property
    def next_number(self) -> int:
        """The number the next planned turn gets."""
        return self._int("next")

    @property
    def fence(self) -> int:
        """The newest fencing number."""
        return self._int("fence")

    @property
    def rounds(self) -> int:
        """Rounds completed when the newest plan was made."""
        return self._int("rounds")

    @property
    def ends_round(self) -> bool:
        """A round has ended once all open turns have closed."""
        return self._fields["ends_round"] == "1"

    @property
    def planner(self) -> str:
        """What the planner remembers, as JSON."""
        return self._fields["planner"] or "{}"

    @property
    def stop(self) -> str:
        """What the stop conditions have observed, as JSON."""
        return self._fields["stop"] or "{}"

    @property
    def usage(self) -> Usage:
        """What was spent so far."""
        with told_as_corrupt(self.session_id, "session"):
            return Usage(
                input_tokens=self._int("input_tokens"),
                output_tokens=self._int("output_tokens"),
                cached_tokens=self._int("cached_tokens"),
                requests=self._int("requests"),
                cost_micros=self._int("cost_micros"),
            )

    @property
    def messages(self) -> int:
        """Messages in the dialog."""
        return self._int("messages")

    @property
    def opened_ms(self) -> int:
        """When the session was opened, milliseconds since the epoch."""
        return self._int("opened_ms")

    @property
    def updated_ms(self) -> int:
        """When it last changed, milliseconds since the epoch."""
        return self._int("updated_ms")

    @property
    def ended_ms(self) -> int | None:
        """When it ended, milliseconds since the epoch."""
        return self._moment("ended_ms")

    @property
    def deadline_ms(self) -> int | None:
        """When it must end by the wall clock, milliseconds since the epoch."""
        return self._moment("deadline_ms")

    @property
    def stop_requested(self) -> bool:
        """Somebody asked it to stop."""
        return self._fields["stop_requested"] == "1"

    @property
    def planned_by(self) -> str | None:
        """Id of the newest plan, chosen by whoever made it."""
        return self._fields["planned_by"]

    @property
    def edition(self) -> int:
        """Counts the changes of what the session is run with; 0 for one that was never steered."""
        return self._int("edition")

    @property
    def awaits_round(self) -> bool:
        """The roster changes when the next round begins."""
        return self._fields["awaited"] == "1"

    @property
    def reason(self) -> str | None:
        """Why it ended."""
        return self._fields["reason"]

    @property
    def detail(self) -> str | None:
        """More about why it ended."""
        return self._fields["detail"]

    @property
    def records(self) -> Records:
        """Turns that are open or not yet consumed by a plan, by number and in that order."""
        if self._records is None:
            self._records = Records(self.session_id, self._turns)
        return self._records

    @property
    def is_final(self) -> bool:
        """Completed or cancelled: nothing more will be written."""
        return self.status in (CollabStatus.COMPLETED, CollabStatus.CANCELLED)

    def open_turns(self) -> list[TurnRecord]:
        """Turns planned, speaking or held, by number."""
        return [r for r in self.records.values() if r.is_open]

    def unconsumed(self) -> list[TurnRecord]:
        """Turns closed since the last plan, by number."""
        return [r for r in self.records.values() if r.status == "closed"]


class Lack(NamedTuple):
    """What a turn wanted and cannot get, since nobody will give anything back."""

    #: `tokens` or `cost` (millionths of a US dollar).
    unit: str
    left: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Grant:
    """The right to speak one turn: valid while its lease is renewed."""

    number: int
    scope: str
    token: str
    fence: int
    #: 1 for the first grant of this turn.
    grants: int
    #: Failures of the agent in this seat so far.
    failures: int
    #: How often the lease of this turn ran out, whoever sat in the seat.
    takeovers: int
    #: Agent that replaces the participant's own after it failed for good.
    substitute: str | None
    #: The dialog window as JSON messages, oldest first.
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A verb's answer: its word, the view taken with it where there is one, and what else it says."""

    word: str
    state: SessionState | None = None
    #: Numbers of turns just planned, or owed to the queue.
    numbers: tuple[int, ...] = ()
    grant: Grant | None = None
    #: When the sweep should look again, or a failed turn may be tried again (milliseconds since the epoch).
    due_ms: int | None = None
    #: A step that is complete has not been planned on.
    advance: bool = False
    #: Something is owed that is not sent again: what was sent before may still be in the queue.
    held: bool = False
    #: What a turn wanted that can never be given to it.
    lack: Lack | None = None
    #: What was booked now of what attempts have spent; None: nothing was to be, or by a call before.
    booked: Usage | None = None


def read_state(
    session_id: str, now_ms: int, values: Sequence[str | None], flat: Sequence[str]
) -> SessionState:
    """A view as `_lib.lua` answers it."""
    fields = dict(zip(view_fields(), values, strict=True))
    return SessionState(session_id, now_ms, fields, dict(zip(flat[::2], flat[1::2], strict=True)))


def read_answer(session_id: str, raw: list[Any], claim: Claim | None = None) -> Answer:
    """What a verb answered; `claim`: the wish, when the verb was `begin`."""
    word = raw[0]
    if len(raw) < 4:
        return Answer(word)
    state = read_state(session_id, raw[1], raw[2], raw[3])
    extra = _read_extra(word, raw[4], claim) if len(raw) > 4 else {}
    return Answer(word, state, booked=read_amounts(raw[5]) if len(raw) > 5 else None, **extra)


def _read_extra(word: str, extra: Any, claim: Claim | None) -> dict[str, Any]:
    """What else an answer says, by the names of its fields."""
    if word == "granted" and claim is not None and extra is not None:
        fence, grants, failures, takeovers, agent, messages = extra
        newest_first: list[str] = messages
        grant = Grant(
            number=claim.number,
            scope=claim.scope,
            token=claim.token,
            fence=fence,
            grants=grants,
            failures=failures,
            takeovers=takeovers,
            substitute=agent or None,
            messages=tuple(reversed(newest_first)),
        )
        return {"grant": grant}
    if word in ("retried", "deferred"):
        return {"due_ms": extra}
    if word == "exhausted" and extra is not None:
        return {"lack": Lack(*extra)}
    if word == "swept" and extra is not None:
        due_ms, numbers, advance, held = extra
        return {"numbers": tuple(numbers), "due_ms": due_ms, "advance": advance == 1, "held": held == 1}
    return {"numbers": tuple(extra or ())}
