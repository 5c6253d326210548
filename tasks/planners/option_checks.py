"""Checks before a session is opened: options and stop conditions must fit the participants."""

from __future__ import annotations

from collections.abc import Sequence

from ...models.errors import InvalidInput
from ...models.protocol.collab import CollabMode, Participant
from ...models.sessions.options import ModeOptions
from ...models.sessions.stop_conditions import MaxRounds, StopCondition, TextSeen
from .registry import mode_of


def check_mode_options(
    mode: CollabMode,
    roster: Sequence[Participant],
    *,
    options: ModeOptions,
    stop: StopCondition | None = None,
) -> None:
    """Refuse options that can never work with this mode and roster.

    Raises:
        InvalidInput: names the field, its value and the rule.
    """
    chosen = mode_of(mode)
    ids = [p.participant_id for p in roster]
    for leaf in stop.leaves() if stop else ():
        if isinstance(leaf, TextSeen) and leaf.by not in (None, *ids):
            raise InvalidInput("stop.text.by", leaf.by, f"must be the id of a participant: {', '.join(ids)}")
        if isinstance(leaf, MaxRounds) and not chosen.has_rounds:
            rule = f"must not be set for a {chosen.name}, which has no rounds"
            raise InvalidInput("stop.max_rounds", leaf.rounds, rule)
    chosen.check(roster, options)
