"""Replay of a session from its record, in this process: no request is sent, no tool is called, nothing is written.

The record gives each turn its context, the answers to its calls and its result; the dialog gives the messages that
it saw, and the answers of people. The planner gets the recorded results in the order in which the turns were
written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..models.directives import read_directives
from ..models.errors import ReplayDiffers
from ..models.sessions.plan import PlannedTurn
from ..models.sessions.recorded import RecordedTurn
from ..models.turns.turn import DraftMessage, TurnContext, TurnOutcome, TurnResult
from ..state.sessions.records import SessionState
from ..tasks.planning.moment import Moment
from ..tasks.turns.results import MessageBuilder
from ..tasks.views.session_views import SessionFacts
from .dialog import RecordedDialog
from .differences import value_difference
from .plans import PlanReplay
from .timeline import ClosedTurn, Timeline
from .turns import ReplayedTurn, TurnReplay

#: Reasons of an end that no planner repeats: they came from outside, or depend on time or on prices.
_OUTSIDE_REASONS = ("stop_requested", "deadline", "token_budget", "cost_budget")
#: Reasons with which a session cancels itself.
_OWN_CANCELS = ("failed", "all_turns_failed")


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A replay without a difference."""

    session_id: str
    #: Number of turns that were written.
    turns: int
    #: Numbers of the turns whose agents ran again.
    run_again: tuple[int, ...] = ()
    #: Numbers of the turns whose recorded outcome was taken: those of people, programs and Python callables, and
    #: turns that failed or were skipped.
    taken: tuple[int, ...] = ()
    #: Number of model requests and of tool calls that were answered from the record.
    requests: int = 0
    tool_calls: int = 0
    #: False: the roster was changed while the session ran, so its plans were not compared.
    plan_compared: bool = True


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """All that a replay reads."""

    facts: SessionFacts
    state: SessionState
    timeline: Timeline
    dialog: RecordedDialog
    #: Records by token.
    records: Mapping[str, RecordedTurn]
    #: The roster was changed while the session ran.
    has_other_roster: bool = False
    #: State in which it began.
    start: Moment = field(default_factory=Moment)

    @property
    def by_number(self) -> dict[int, RecordedTurn]:
        """Return the records of the written turns by number."""
        found = (self.records.get(it.token) for it in self.timeline.closed)
        return {it.number: it for it in found if it is not None}


class SessionReplay:
    """Replay of one session.

    Args:
        session: The recorded session.
        turns: Replay of its turns.
    """

    def __init__(self, session: RecordedSession, turns: TurnReplay) -> None:
        self._session = session
        self._turns = turns
        self._plans = PlanReplay(
            session.facts,
            session.timeline,
            session.by_number,
            start=session.start,
            stop_requested=session.state.stop_requested,
        )

    def run(self) -> ReplayResult:
        """Replay the session.

        Raises:
            ReplayDiffers: The first difference.
        """
        compares_plan, closed = not self._session.has_other_roster, self._session.timeline.closed
        replayed: dict[int, ReplayedTurn] = {}
        if compares_plan:
            self._refuse(0, "", self._plans.plan(closed=0))
        for count, turn in enumerate(closed, 1):
            replayed[turn.number] = self._replay_turn(turn, compares_plan=compares_plan)
            if compares_plan:
                self._plans.close(self._result_of(turn))
                self._refuse(turn.number, "", self._plans.plan(closed=count))
        if compares_plan:
            self._compare_end()
        return ReplayResult(
            session_id=self._session.facts.session_id,
            turns=len(closed),
            run_again=tuple(number for number, it in replayed.items() if it.has_run),
            taken=tuple(number for number, it in replayed.items() if not it.has_run),
            requests=sum(it.requests for it in replayed.values()),
            tool_calls=sum(it.tool_calls for it in replayed.values()),
            plan_compared=compares_plan,
        )

    def _replay_turn(self, turn: ClosedTurn, *, compares_plan: bool) -> ReplayedTurn:
        if compares_plan and turn.number not in self._plans.open:
            self._refuse(turn.number, turn.participant, ["the plan: the turn is not planned now"])
        record = self._session.records.get(turn.token)
        replayed = ReplayedTurn() if record is None else self._turns.replay(record)
        self._refuse(turn.number, turn.participant, replayed.differences)
        return replayed

    def _refuse(self, turn: int, participant: str, differences: Sequence[str]) -> None:
        if differences:
            raise ReplayDiffers(
                self._session.facts.session_id, turn=turn, participant=participant, differences=differences
            )

    def _result_of(self, turn: ClosedTurn) -> TurnResult:
        """Return the recorded result of a turn; without a record, as of a person's turn, that of its message."""
        record = self._session.records.get(turn.token)
        if record is not None:
            return record.result
        facts, planned = self._session.facts, self._plans.open[turn.number]
        said = self._session.dialog.said(turn.number, turn.token, turn.participant)
        drafts = tuple(DraftMessage(content=it.content, role=it.role) for it in said[-1:])
        outcome = TurnOutcome(messages=drafts)
        read = read_directives(_plain_context(facts, planned, turn.number), outcome)
        builder = MessageBuilder(facts, planned, turn.number, turn.token, fence=0)
        return builder.result(turn.kind, outcome if read.question else read, error=turn.error)

    def _compare_end(self) -> None:
        state, finish, last = self._session.state, self._plans.finish, self._session.timeline.closed
        number = last[-1].number if last else 0
        reason = state.reason or ""
        if not state.is_final or _is_from_outside(state):
            return
        if finish is None:
            following = ", ".join(it.participant for it in self._plans.open.values()) or "nothing"
            self._refuse(number, "", [value_difference("the plan", f"end: {reason}", f"turn of {following}")])
        elif finish.reason != reason:
            self._refuse(number, "", [value_difference("reason of the end", reason, finish.reason)])


def _is_from_outside(state: SessionState) -> bool:
    reason = state.reason or ""
    if state.status.value == "cancelled" and reason not in _OWN_CANCELS:
        return True
    return any(it in reason for it in _OUTSIDE_REASONS)


def _plain_context(facts: SessionFacts, planned: PlannedTurn, number: int) -> TurnContext:
    return TurnContext(
        session_id=facts.session_id,
        mode=facts.collab.mode,
        title=facts.collab.title,
        purpose=facts.collab.purpose,
        me=facts.roster[planned.participant],
        roster=facts.participants,
        turn_number=number,
        expects=planned.expects,
        item=planned.item,
    )
