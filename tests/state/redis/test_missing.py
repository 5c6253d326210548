"""A script answers `missing`, and writes nothing, if its session, batch or schedule does not exist."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mutants.running import script_names, text_of
from sessions.table import turn
from symposia.models.sessions.plan import Step
from symposia.models.text.ids import new_id
from symposia.state.redis.scripts import call_on_session, call_script, load_script
from symposia.state.sessions.steering import SettingsChange, SteeringStore, read_documents

VERBS = [name for name in script_names() if re.search("^--- ANSWERS:.* missing", text_of(name), re.MULTILINE)]


@pytest.mark.parametrize("verb", VERBS)
def test_script_answers_missing(client, verb):
    script = load_script(verb)
    # Numbers and JSON documents are read from `1` and `{}`.
    args = {name: "{}" if name in {"plan", "about", "spent"} else "1" for name in script.args}
    if script.keys[0] == "session":
        scope = "floor" if "lock" in script.keys else None
        answer = call_on_session(client, verb, new_id(), args, scope=scope)
    else:
        answer = call_script(client, verb, [f"{{x}}:{name}" for name in script.keys], args)
    assert answer == ["missing"]
    assert client.dbsize() == 0


def test_consumed_turn_is_done(table):
    number = table.plan_one()
    late = table.expire_grant(number)
    grant = table.grant(number)
    table.commit(grant, "said", then=table.write(Step(turns=(turn("bob"),)), after=number))
    assert table.fail(late).word == "done"
    assert table.park(late, "r").word == "done"
    assert table.store.defer(table.id, number, delay_ms=0).word == "done"
    assert not table.renew(late)


def test_repeated_change_is_recognised_after_others(table):
    steering, request = SteeringStore(table.client), new_id()

    def change(spec, request):
        documents = read_documents(table.client, table.id)
        return SettingsChange(documents, spec, None, None, "participant.instructed", {}, request)

    first = change('{"a": 1}', request)
    assert steering.steer(table.id, first).word == "steered"
    assert steering.steer(table.id, change('{"a": 2}', new_id())).word == "steered"
    assert steering.steer(table.id, first).word == "steered"
    assert steering.steer(table.id, replace(first, request=new_id())).word == "outdated"
    assert read_documents(table.client, table.id).spec == '{"a": 2}'
