"""The modes by name, and the checks of a session's options and of planned steps.

Options are checked before a session is opened. The rules for steps apply to every planner.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..protocol.collab import CollabMode, Participant, add_mode_name, find_participants
from ..sessions.options import ModeOptions
from ..sessions.plan import FLOOR_SCOPE, PlannedTurn, RefusedHandOff, SessionView, Step
from ..sessions.stop_conditions import RoundOfPasses, StopCondition
from ..text.redact import excerpt
from ..turns.position import TurnPosition
from ..turns.turn import Expects, TurnContext
from . import broadcast, orchestrated, pair, round_robin, swarm
from .mode import Mode
from .positions import PositionFacts, opening_of

_MODES: dict[str, Mode] = {
    module.MODE.name: module.MODE for module in (round_robin, orchestrated, pair, broadcast, swarm)
}


def modes() -> Iterable[Mode]:
    """Return all modes, in the order in which they are shown."""
    return tuple(_MODES.values())


def mode_of(name: CollabMode | str) -> Mode:
    """Return a mode by its name."""
    return _MODES[str(name)]


def add_mode(mode: Mode) -> CollabMode:
    """Add a mode to the five of the protocol; return its name for `Collab.mode`.

    Call this in every process that opens, plans or shows such sessions. Documents of such a session are not
    valid under the schema of the protocol.

    Raises:
        ValueError: A mode of this name exists.
    """
    if mode.name in _MODES:
        raise ValueError(f"mode {mode.name!r} is registered already")
    name = add_mode_name(mode.name)
    _MODES[mode.name] = mode
    return name


def with_position(turn: TurnContext, **facts: Any) -> TurnContext:
    """Return a turn of no session, such as one in a test, with the opening of its messages and its position.

    Args:
        turn: The turn; its position and its opening are computed if they are not set.
        facts: Further fields of `PositionFacts`.
    """
    mode = mode_of(turn.mode)
    orchestrator = turn.me.participant_id if turn.expects is Expects.DECISION else None
    given: dict[str, Any] = {
        "options": ModeOptions(),
        "orchestrator": orchestrator,
        "state": {},
        "beside": {},
    }
    planned = PlannedTurn(
        participant=turn.me.participant_id,
        instruction=turn.instruction[:10_000],
        expects=turn.expects,
        item=turn.item,
        output=turn.output_schema is not None,
    )
    own = {"turn": planned, "number": turn.turn_number, "roster": turn.roster, "messages": turn.messages}
    position = turn.position
    if position == TurnPosition():
        position = mode.position(PositionFacts(**given | own | facts))
    return turn.model_copy(
        update={"position": position, "opening": turn.opening or opening_of(turn.messages)}
    )


def judge_hand_offs(view: SessionView) -> tuple[SessionView, tuple[RefusedHandOff, ...]]:
    """Return the view with the accepted hand-offs (by participant id), and the refused hand-offs."""
    refuses = mode_of(view.mode).refuses
    if refuses is None or all(result.hand_off is None for result in view.results):
        return view, ()
    results, refused = [], []
    for result in view.results:
        if result.hand_off is None:
            results.append(result)
            continue
        to = find_participants(result.hand_off, view.roster)
        reason = refuses(view, result, to)
        results.append(result.model_copy(update={"hand_off": None if reason else to[0]}))
        if reason:
            shown = excerpt(result.hand_off)
            refused.append(
                RefusedHandOff(number=result.number, participant=result.participant, to=shown, reason=reason)
            )
    return replace(view, results=tuple(results)), tuple(refused)


def effective_stop(name: CollabMode, stop: StopCondition | None) -> StopCondition:
    """Return the stop condition of a session: the user's, or the mode's default.

    In every mode with rounds, a full round of passes also ends the session, because the participants would
    pass again and again.
    """
    mode = mode_of(name)
    chosen = stop or mode.default_stop
    return chosen | RoundOfPasses() if mode.has_rounds else chosen


def check_mode_options(
    mode: CollabMode,
    roster: Sequence[Participant],
    *,
    options: ModeOptions,
    stop: StopCondition | None = None,
) -> None:
    """Refuse options that can never work with this mode and roster.

    Raises:
        InvalidInput: The message names the field, its value and the rule.
    """
    chosen = mode_of(mode)
    ids = [p.participant_id for p in roster]
    for leaf in stop.leaves() if stop else ():
        leaf.check(ids, chosen.name, has_rounds=chosen.has_rounds)
    chosen.check(roster, options)


def check_step(view: SessionView, step: Step) -> None:
    """Refuse a step that would break the session.

    Raises:
        AssertionError: The message names the rule. The cause is a defect of the planner, never the input.
    """
    people = set(view.ids())
    waiting = [turn for turn in view.open if turn.number not in step.drop]
    speakers = [t.participant for t in waiting] + [t.participant for t in step.turns]
    scopes = [t.scope for t in waiting] + [t.scope for t in step.turns]
    limit = None if view.turns_left is None else view.turns_left + len(view.open)
    rules = {
        "every speaker is a participant": people.issuperset(speakers),
        "no participant has two open turns": len(set(speakers)) == len(speakers),
        "no scope is locked twice": len(set(scopes)) == len(scopes),
        "an exclusive turn is the only open turn": FLOOR_SCOPE not in scopes or len(scopes) == 1,
        "only open turns are dropped": {turn.number for turn in view.open}.issuperset(step.drop),
        "no more turns than are left": limit is None or len(scopes) <= limit,
        "the step makes progress": bool(step.turns or view.open),
    }
    broken = [rule for rule, kept in rules.items() if not kept]
    if broken:
        raise AssertionError(
            f"the {view.mode} planner returned an invalid step; broken rules: {'; '.join(broken)}"
        )
