"""Plans: input and output of a planner.

A planner is a pure function `plan(view) -> Step | Wait | Finish`, called after every turn
that closed. It never sees message texts, so its cost does not grow with the dialog. What
it wants to remember goes into `Step.state` and comes back in `SessionView.state`; a `Wait`
changes nothing, and what had closed by then is seen again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from pydantic import Field, JsonValue, SkipValidation

from ..protocol.collab import CollabMode, Participant
from ..turns.frozen import Frozen
from ..turns.items import WorkItem
from ..turns.turn import NO_USAGE, Expects, TurnResult, Usage
from .options import ModeOptions

FLOOR_SCOPE = "floor"


class PlannedTurn(Frozen):
    """A turn of a plan."""

    participant: str
    #: Lock of the turn: `floor` if one participant speaks at a time, a slot or an item if several do.
    scope: str = FLOOR_SCOPE
    instruction: str = Field(default="", max_length=10_000)
    expects: Expects = Expects.MESSAGE
    item: WorkItem | None = None
    #: The output of the session is required in this turn.
    output: bool = False
    #: The place of its message in the dialog is recorded, because other items may wait for its item.
    indexed: bool = False
    #: The last turn of a swarm: it sees the results of all items.
    reduces: bool = False
    #: Sees nothing that is written after the step was planned.
    snapshot: bool = False
    #: An answer to a broadcast: closing it is recorded as received.
    broadcast: bool = False


class ParticipantRoles(NamedTuple):
    """Who has which role in a session; each by participant id."""

    #: Who decides who speaks next; None: there is no orchestrator.
    orchestrator: str | None = None
    #: Speaker of the output, unless the session names one; None: the speaker of the last turn.
    output_by: str | None = None
    #: All but the judge of an alignment session (the orchestrator or the aggregator) and the broadcaster.
    experts: tuple[str, ...] = ()


class OpenTurn(NamedTuple):
    """A planned turn that has not closed yet."""

    number: int
    participant: str
    scope: str = FLOOR_SCOPE
    item: WorkItem | None = None
    #: True: it waits for an answer, and a stop does not wait for it.
    parked: bool = False
    #: True: no worker has begun it, so it has no cost yet.
    unbegun: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Counters of a session so far."""

    #: Closed turns, passes and skips included.
    turns: int = 0
    #: Of the closed turns, those that were skipped: the agent failed for good, or there was no answer in time.
    skipped: int = 0
    #: Completed rounds.
    rounds: int = 0
    usage: Usage = NO_USAGE
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """Input of a planner and of the stop conditions: O(participants), never O(dialog).

    Rebuilt at every turn, from values that were checked before.
    """

    mode: CollabMode
    purpose: str
    roster: tuple[Participant, ...]
    #: Orchestrator of an orchestrated session, or None.
    orchestrator: str | None = None
    options: ModeOptions
    #: State from the planner's last step; empty at the start.
    state: dict[str, JsonValue] = field(default_factory=dict)
    #: Turns closed since the last step, by number.
    results: tuple[TurnResult, ...] = ()
    open: tuple[OpenTurn, ...] = ()
    #: `rounds` already counts the round that just ended.
    totals: Totals = field(default_factory=Totals)
    #: Number of turns that may still be planned under the stop conditions; None: any number.
    turns_left: int | None = None

    def ids(self) -> tuple[str, ...]:
        """Return participant ids in roster order."""
        return tuple([p.participant_id for p in self.roster])


class BoardEntry(Frozen):
    """A work item as the board shows it."""

    item: WorkItem
    #: open | claimed | done | dropped
    status: str
    participant: str | None = None
    turn_number: int | None = None
    #: Why it was dropped.
    reason: str = ""
    #: Number of the item, if its id is another one.
    number: int | None = None

    @property
    def order(self) -> int:
        """Position of the item on the board, from 1."""
        return int(self.item.item_id) if self.number is None else self.number


class RefusedHandOff(Frozen):
    """A hand-off that the mode refuses."""

    #: Number and participant of the turn.
    number: int
    participant: str
    #: The name as it was given, cut.
    to: str
    reason: str


class Step(Frozen):
    """Turns that may run side by side; one turn in the modes in which one participant speaks at a time.

    After a step without turns and without open turns, the next step is planned at once.
    """

    turns: tuple[PlannedTurn, ...] = ()
    #: State of the planner as JSON data; not validated, because the planner itself made it.
    state: Annotated[dict[str, JsonValue], SkipValidation] = Field(default_factory=dict)
    #: When all open turns have closed, a round has ended.
    ends_round: bool = False
    #: Text of a broadcast to the participants of this step; empty: that of its turn, of the user or the purpose; None:
    #: no broadcast.
    announce: str | None = None
    #: The closed turn whose message is broadcast; None: the user asks.
    announced_turn: int | None = None
    #: Numbers of open turns that are no longer needed: they are cancelled and bring no result.
    drop: tuple[int, ...] = ()
    #: Work items that changed, for those who look at the board.
    board: tuple[BoardEntry, ...] = ()


class Wait(Frozen):
    """No plan until another open turn closes."""


class Finish(Frozen):
    """The session ends."""

    #: A short code: `satisfied`, `max_turns`, `board_empty`, `failed`, ...
    reason: str
    detail: str = ""
    #: True: ends as cancelled (an abort), not as completed.
    aborted: bool = False
    board: tuple[BoardEntry, ...] = ()


Plan = Step | Wait | Finish
