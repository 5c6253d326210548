"""The definition of a mode: planner, options and checks of hand-offs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..protocol.collab import Collab, Participant
from ..sessions.options import ModeOptions
from ..sessions.plan import BoardEntry, ParticipantRoles, Plan, SessionView
from ..sessions.stop_conditions import StopCondition
from ..text.redact import excerpt
from ..turns.decision_ledger import DecisionLedger
from ..turns.position import TurnPosition
from ..turns.turn import TurnResult
from .positions import PositionFacts, base_position
from .texts.common import NO_TEXTS, ModeTexts

#: Function that returns why a mode refuses a hand-off to the participants that its name may mean; empty:
#: accepted.
HandOffCheck = Callable[[SessionView, TurnResult, tuple[str, ...]], str]


def refuse_all(view: SessionView, _result: TurnResult, _targets: tuple[str, ...]) -> str:
    """Refuse every hand-off: the mode alone decides who speaks next."""
    return f"mode {view.mode.value} does not allow hand-offs"


def refuse_unless_one_other(_view: SessionView, result: TurnResult, to: tuple[str, ...]) -> str:
    """Accept only a hand-off to exactly one other participant."""
    if not to:
        return "no participant has this name"
    if len(to) > 1:
        return f"the name is ambiguous: {excerpt(', '.join(to))}"
    return "a participant cannot hand off to itself" if to[0] == result.participant else ""


def all_but(collab: Collab, *others: str | None) -> tuple[str, ...]:
    """Return the ids of the participants without some of them."""
    return tuple(p.participant_id for p in collab.participants if p.participant_id not in others)


def equal_roles(collab: Collab, options: ModeOptions) -> ParticipantRoles:
    """Return the roles in a mode in which all participants are alike."""
    return ParticipantRoles(experts=all_but(collab, options.aggregator))


def _accept(_roster: Sequence[Participant], _options: ModeOptions) -> None:
    """Accept all options."""


def _no_ending(_position: TurnPosition) -> str:
    return ""


def _no_board(_view: SessionView, _reason_code: str) -> tuple[BoardEntry, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A way in which the participants of a session take turns."""

    #: Name, as in `Collab.mode`.
    name: str
    #: Description for users, one line.
    summary: str
    plan: Callable[[SessionView], Plan]
    default_stop: StopCondition
    #: Check of hand-offs; None: the planner accepts all of them unchanged.
    refuses: HandOffCheck | None = refuse_all
    #: Texts for language models.
    texts: ModeTexts = NO_TEXTS
    #: Returns how a session in the mode ends besides its stop conditions, such as `when Ann approves`; empty: in no way.
    ending: Callable[[TurnPosition], str] = _no_ending
    #: Returns the position of a turn in the mode.
    position: Callable[[PositionFacts], TurnPosition] = base_position
    #: True if the mode has rounds. If False, `max_rounds` is refused, and a removed participant leaves after
    #: its open turn.
    has_rounds: bool = True
    #: True if every participant has one turn per round.
    one_turn_each: bool = False
    #: True if the participants work on the items of a board, and may add items and hand them off.
    has_board: bool = False
    #: True if an orchestrator decides who speaks; in a panel of reviewers, that is the first seat.
    has_orchestrator: bool = False
    #: True if the last participant reviews the work, and its verdict ends the session.
    has_navigator: bool = False
    #: Role of the judge of an alignment session, if the participant has none; None: the usual one.
    judge_title: str | None = None
    #: Returns who has which role in a session.
    roles: Callable[[Collab, ModeOptions], ParticipantRoles] = equal_roles
    #: Raises InvalidInput for options that do not fit the participants.
    check: Callable[[Sequence[Participant], ModeOptions], None] = _accept
    #: Returns the remaining work items when the session is ended by something other than the planner.
    board_at_end: Callable[[SessionView, str], tuple[BoardEntry, ...]] = _no_board
    #: Returns the ledger for the open turn of an orchestrator; None: the mode has none.
    ledger: Callable[[SessionView], DecisionLedger] | None = None
