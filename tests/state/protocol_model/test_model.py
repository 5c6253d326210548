"""All interleavings of the turn protocol within small bounds, by the real scripts on a real server."""

from __future__ import annotations

import pytest

from protocol_model.catalogue import QUICK, SCENARIOS, scenario_named
from protocol_model.defects import DEFECTS, defect_named
from protocol_model.explorer import Explorer
from protocol_model.server import planted
from symposia.state.redis.connect import connect


@pytest.fixture
def explore(redis_url):
    """Explores a scenario on an empty server."""

    def run(scenario):
        with connect(redis_url) as client:
            return Explorer(client, scenario).explore()

    return run


@pytest.mark.parametrize("scenario", QUICK, ids=lambda scenario: scenario.name)
def test_tiny_bounds_violate_no_rule(explore, scenario):
    found = explore(scenario)
    assert not found.rule, found.render()
    assert found.ended > 1


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_no_interleaving_violates_a_rule(explore, scenario):
    found = explore(scenario)
    assert not found.rule, found.render()
    assert found.ended > 100


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_planted_defect_is_found(explore, defect):
    with planted(defect.verb, defect.old, defect.new):
        found = explore(scenario_named(defect.scenario))
    assert defect.rule in found.rule
    assert found.trace[0] == "the session is opened"


def test_trace_names_each_step_to_the_violation(explore):
    defect = defect_named("commit accepts any writer while the turn has a lock")
    with planted(defect.verb, defect.old, defect.new):
        found = explore(scenario_named(defect.scenario))
    assert found.render().splitlines()[1:] == [
        "  VIOLATED: stale token ~a writes turn 1",
        "  1. the session is opened",
        "  2. a worker takes the message to plan, and reads the session",
        "  3. a worker writes its plan of step 1, made for version 0: planned",
        "  4. a worker begins turn 1 under token ~a; a copy of the message stays in the queue: granted",
        "  5. the lease of token ~a expires; its worker is frozen",
        "  6. a worker begins turn 1 under token ~b: granted",
        "  7. a worker commits turn 1 under token ~a: committed",
    ]
