"""Which planner and which stop condition a mode gets, and what is refused before a session opens."""

from __future__ import annotations

import pytest

from sessions.simulation import item, people
from symposia.models.errors import InvalidInput
from symposia.models.modes import check_mode_options, effective_stop, mode_of
from symposia.models.protocol.collab import Collab, CollabMode
from symposia.models.sessions.options import ModeOptions
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns, RoundOfPasses, TextSeen

ROSTER = people("ann", "tess", tess="tester")


@pytest.mark.parametrize(
    ("mode", "stop", "effective"),
    [
        ("round_robin", None, MaxRounds(3) | RoundOfPasses()),
        ("orchestrated", None, MaxRounds(10) | RoundOfPasses()),
        ("pair", None, MaxRounds(5) | RoundOfPasses()),
        ("broadcast", None, MaxRounds(1) | RoundOfPasses()),
        ("swarm", None, MaxTurns(10_000)),
        ("round_robin", MaxTurns(7), MaxTurns(7) | RoundOfPasses()),
        ("swarm", TextSeen("DONE"), TextSeen("DONE")),
    ],
)
def test_stop_condition_replaces_the_default_of_its_mode(mode, stop, effective):
    assert effective_stop(CollabMode(mode), stop) == effective


@pytest.mark.parametrize(
    ("mode", "options", "roles"),
    [
        ("round_robin", {}, (None, None, ("ann", "ben", "cyd"))),
        ("round_robin", {"aggregator": "ben"}, (None, None, ("ann", "cyd"))),
        ("orchestrated", {}, ("cyd", "cyd", ("ann", "ben"))),
        ("orchestrated", {"orchestrator": "ann", "aggregator": "ben"}, ("ann", "ann", ("ben", "cyd"))),
        ("pair", {}, (None, "cyd", ("ann", "ben", "cyd"))),
        ("broadcast", {"broadcaster": "ann"}, (None, "cyd", ("ben", "cyd"))),
        ("broadcast", {"broadcaster": "cyd"}, (None, "ben", ("ann", "ben"))),
        ("broadcast", {"broadcaster": "cyd", "aggregator": "ann"}, (None, "ann", ("ben",))),
        ("swarm", {}, (None, None, ("ann", "ben", "cyd"))),
        ("swarm", {"reducer": "ben"}, (None, "ben", ("ann", "ben", "cyd"))),
    ],
)
def test_mode_says_who_has_which_role(mode, options, roles):
    collab = Collab(
        title="t", purpose="p", mode=mode, participants=people("ann", "ben", "cyd", cyd="orchestrator")
    )
    assert mode_of(mode).roles(collab, ModeOptions(**options)) == roles


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
