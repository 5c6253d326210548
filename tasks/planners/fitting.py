"""Whether options and stop conditions fit the people who take part: asked before a session is opened."""

from __future__ import annotations

from collections.abc import Sequence

from ...models.collab import CollabMode, Participant
from ...models.errors import InvalidInput
from ...models.options import ModeOptions
from ...models.roster import seat_named
from ...models.stop import MaxRounds, StopCondition, TextSeen


def check_fit(
    mode: CollabMode,
    roster: Sequence[Participant],
    *,
    options: ModeOptions,
    stop: StopCondition | None = None,
) -> None:
    """Refuses what could never work with this mode and roster.

    Raises:
        InvalidInput: names the field, its value and the rule.
    """
    ids = [p.participant_id for p in roster]
    for leaf in stop.leaves() if stop else ():
        if isinstance(leaf, TextSeen) and leaf.by not in (None, *ids):
            raise InvalidInput("stop.text.by", leaf.by, f"must be the id of a participant: {', '.join(ids)}")
        if isinstance(leaf, MaxRounds) and mode is CollabMode.SWARM:
            rule = "must not be set for a swarm, which has no rounds"
            raise InvalidInput("stop.max_rounds", leaf.rounds, rule)
    if mode is CollabMode.BROADCAST:
        _check_broadcast(ids, options)
    if mode is CollabMode.SWARM:
        _check_swarm(roster, options)


def _check_broadcast(ids: Sequence[str], options: ModeOptions) -> None:
    if options.aggregator is not None and options.aggregator not in ids:
        rule = f"must be the id of a participant: {', '.join(ids)}"
        raise InvalidInput("options.aggregator", options.aggregator, rule)
    answering = len([name for name in ids if name != options.aggregator])
    if options.quorum is not None and options.quorum > answering:
        raise InvalidInput("options.quorum", options.quorum, f"must be at most {answering}: so many answer")


def _check_swarm(roster: Sequence[Participant], options: ModeOptions) -> None:
    if len(options.items) > options.max_items:
        rule = f"must be at most max_items, which is {options.max_items}"
        raise InvalidInput("options.items", f"{len(options.items)} items", rule)
    for i, item in enumerate(options.items):
        if item.role is not None and seat_named(item.role, roster) is None:
            raise InvalidInput(
                f"options.items[{i}].role", item.role, "must be the role or id of a participant"
            )
