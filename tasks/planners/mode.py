"""A mode as one value: everything in which the modes differ.

Each planner module ends with its `MODE`, and `registry` lists them. The value holds the planner, the default stop
condition, the checks before a session opens, the line for models, the choices and the progress of the command line,
and the session of `symposia demo`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...models.protocol.collab import Participant
from ...models.sessions.options import ModeOptions
from ...models.sessions.plan import BoardEntry, Plan, SessionView
from ...models.sessions.stop_conditions import StopCondition
from .hand_offs import HandOffCheck, refuse_all

Planner = Callable[[SessionView], Plan]
#: Raises InvalidInput for options that do not fit the participants.
OptionCheck = Callable[[Sequence[Participant], ModeOptions], None]
#: Returns the work items that remain when something other than the planner ends the session.
BoardAtEnd = Callable[[SessionView, str], tuple[BoardEntry, ...]]


def _accept(_roster: Sequence[Participant], _options: ModeOptions) -> None:
    """Accept all options."""


def _no_board(_view: SessionView, _describe_error: str) -> tuple[BoardEntry, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """The session of `symposia demo` in a mode. Its participants are agents from `agents/registry/demo.toml`."""

    title: str
    purpose: str
    #: Scripted replies by participant; empty: the default lines of the agent.
    replies: Mapping[str, Sequence[Any]]
    #: Participants that follow a script even if the others use the local model.
    scripted: Sequence[str] = ()
    #: Roles by participant, in addition to the default ones.
    roles: Mapping[str, str] = field(default_factory=dict)
    #: Further settings of each agent.
    binding: Mapping[str, Any] = field(default_factory=dict)
    stop: Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None
    messages: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A way in which the participants of a session take turns."""

    #: As in `Collab.mode`.
    name: str
    #: One line for users.
    summary: str
    #: One line for models: how turns follow each other.
    prompt: str
    plan: Planner
    default_stop: StopCondition
    #: Check that refuses hand-offs; None: the planner takes all of them unchanged.
    refuses: HandOffCheck | None = refuse_all
    #: If False, `max_rounds` is refused, and a roster change applies as soon as the participant who leaves has finished.
    has_rounds: bool = True
    #: Every participant has one turn in every round.
    one_turn_each: bool = False
    check: OptionCheck = _accept
    board_at_end: BoardAtEnd = _no_board
    demo: Demo | None = None
