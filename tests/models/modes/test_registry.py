"""Which planner and which stop condition a mode gets, and what is refused before a session opens."""

from __future__ import annotations

import pytest

from sessions.simulation import item, people
from symposia.models.errors import InvalidInput
from symposia.models.modes import check_mode_options, effective_stop, mode_of
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.options import ModeOptions
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns, RoundOfPasses, TextSeen

ROSTER = people("ann", "tess", tess="tester")


@pytest.mark.parametrize("mode", CollabMode)
def test_every_mode_has_a_planner(mode):
    assert callable(mode_of(mode).plan)


@pytest.mark.parametrize(
    ("mode", "limit"),
    [
        (CollabMode.ROUND_ROBIN, MaxRounds(3)),
        (CollabMode.ORCHESTRATED, MaxRounds(10)),
        (CollabMode.PAIR, MaxRounds(5)),
        (CollabMode.BROADCAST, MaxRounds(1)),
    ],
)
def test_mode_with_rounds_has_a_default_limit(mode, limit):
    assert effective_stop(mode, None) == limit | RoundOfPasses()


def test_stop_condition_replaces_the_default_limit():
    assert effective_stop(CollabMode.ROUND_ROBIN, MaxTurns(7)) == MaxTurns(7) | RoundOfPasses()


def test_swarm_without_a_condition_has_a_turn_limit():
    assert effective_stop(CollabMode.SWARM, None) == MaxTurns(10_000)
    assert effective_stop(CollabMode.SWARM, TextSeen("DONE")) == TextSeen("DONE")


def test_swarm_refuses_a_limit_on_rounds():
    stop = MaxTurns(9) | (MaxRounds(3) & TextSeen("x"))
    with pytest.raises(InvalidInput, match=r"^stop\.max_rounds: must not be set for a swarm.*\(got 3\)$"):
        check_mode_options(CollabMode.SWARM, ROSTER, options=ModeOptions(), stop=stop)


@pytest.mark.parametrize(
    ("mode", "options", "message"),
    [
        (
            CollabMode.BROADCAST,
            {"aggregator": "zed"},
            "options.aggregator: must be the id of a participant: ann, tess",
        ),
        (CollabMode.BROADCAST, {"quorum": 3}, "options.quorum: must be at most 2"),
        (CollabMode.BROADCAST, {"quorum": 2, "aggregator": "ann"}, "options.quorum: must be at most 1"),
        (
            CollabMode.SWARM,
            {"items": (item("a"), item("b")), "max_items": 1},
            "options.items: must be at most max_items",
        ),
        (
            CollabMode.SWARM,
            {"items": (item("a"), item("b", "boss"))},
            "options.items[1].role: must be the role or id",
        ),
    ],
)
def test_impossible_options_are_refused(mode, options, message):
    with pytest.raises(InvalidInput) as refused:
        check_mode_options(mode, ROSTER, options=ModeOptions(**options))
    assert str(refused.value).startswith(message)


def test_stop_text_of_no_participant_is_refused():
    with pytest.raises(InvalidInput, match=r"^stop\.text\.by: must be the id of a participant: ann, tess"):
        check_mode_options(
            CollabMode.PAIR, ROSTER, options=ModeOptions(), stop=MaxTurns(3) | TextSeen("x", by="zed")
        )


def test_options_of_other_modes_are_ignored():
    check_mode_options(
        CollabMode.PAIR, ROSTER, options=ModeOptions(aggregator="zed", quorum=9, items=(item("a", "boss"),))
    )
