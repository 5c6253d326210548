"""What the model leaves out of a state must not matter to any script, and what it sends must be real."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest

from protocol_model.calls import open_call
from protocol_model.catalogue import scenario_named
from protocol_model.scenario import Plan, make_plan
from protocol_model.server import Server, empty_store, planted
from protocol_model.store import NOW_MS, canonical_store
from sessions.table import Table, turn
from symposia.models.sessions.plan import Finish, Step
from symposia.state.redis.connect import connect
from symposia.state.redis.scripts import load_script

LUA = files("symposia.state") / "lua"
MODELLED = [
    f"{folder}/{path.name}"
    for folder in ("sessions", "turns", "parked", "lib")
    for path in (LUA / folder).iterdir()
]
STORE = {"session": {}, "turns": {}, "dialog": [], "locks": {}}


def canonical(**changes):
    return canonical_store(**{**STORE, **changes}, now_ms=NOW_MS)


@pytest.mark.parametrize("name", MODELLED)
def test_scripts_never_read_the_recorded_events(name):
    """A state of the model holds no events, so no script may decide by them."""
    reads = re.findall(
        r"redis\.call\('(?!XADD)\w+', [\w.]*(?:events|journal)\b", (LUA / name).read_text("utf-8")
    )
    assert not reads


@pytest.mark.parametrize("name", MODELLED)
def test_only_the_clock_module_reads_the_time(name):
    assert ("'TIME'" in (LUA / name).read_text("utf-8")) == (name == "lib/clock.lua")


@pytest.mark.parametrize("name", MODELLED)
def test_ignored_fields_decide_nothing(name):
    """A record's `waited_ms` is only written."""
    text = (LUA / name).read_text("utf-8")
    assert not re.search(r"(?:if|and|or|math\.\w+\()[^\n]*turn\.waited_ms", text)


def test_past_times_are_equal_and_later_ones_differ():
    def at(offset):
        return canonical(turns={"1": json.dumps({"wake_ms": NOW_MS + offset})})

    assert at(-5_000) == at(0)
    assert at(5_000) != at(0)


def test_ids_of_messages_become_their_places():
    def with_id(entry):
        return canonical(dialog=[(entry, {"m": "x"})], turns={"1": json.dumps({"until_id": entry})})

    assert with_id("1700000000000-0") == with_id("1700000000001-5")


def test_plans_have_the_fields_of_real_plans(client):
    table = Table(client)
    scenario = scenario_named("one turn")
    real_step = json.loads(table.write(Step(turns=(turn(),))).document)
    real_finish = json.loads(table.write(Finish(reason="satisfied")).document)
    step = json.loads(Plan("p", "0", 0, (), (), ()).document(scenario))
    finish = json.loads(Plan("p", "0", 1, (), (), ()).document(scenario))
    assert step.keys() == real_step.keys()
    assert step["turns"][0].keys() == real_step["turns"][0].keys()
    assert step["turns"][0]["record"].keys() <= real_step["turns"][0]["record"].keys()
    assert finish.keys() == real_finish.keys()
    assert finish["finish"].keys() == real_finish["finish"].keys()


def test_a_restored_store_is_the_same_store(redis_url):
    """A script that changes nothing leaves the store that was restored."""
    scenario = scenario_named("one turn")
    with connect(redis_url) as client:
        server = Server(client, scenario.scopes)
        call = open_call(scenario)
        server.run([(empty_store(), call)])
        opened = server.outcome(empty_store(), call).store
        server.run([(opened, call)])
        again = server.outcome(opened, call)
        server.clear()
    assert make_plan(scenario, opened, "plan-a") is not None
    assert again.store.text == opened.text


def test_a_defect_that_fits_nowhere_is_refused():
    with planted("turns/commit", "no such text", ""), pytest.raises(ValueError, match="expected once"):
        load_script("turns/commit")
