"""Each mode from submit to result, on a real server and a real worker process."""

from __future__ import annotations

from collections import Counter

import pytest

from live import result_of, until
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns


def speakers(result):
    return [message.speaker for message in result.dialog.messages]


def turn_events(job):
    wanted = {
        "MAPTurnDispatched": "begin",
        "MAPTurnCompleted": "end",
        "MAPBroadcastSent": "sent",
        "MAPBroadcastReceived": "received",
    }
    return [
        (wanted[e.event_type], e.payload.get("participant_id") or e.payload.get("receiver_role_id"))
        for e in job.events()
        if e.event_type in wanted
    ]


def test_round_robin_speaks_in_roster_order(shared, checked):
    job = shared.submit("round_robin", {"ann": "say", "bob": "say", "cyd": "say"}, stop=MaxRounds(2))
    result = result_of(job)

    assert result.ok
    assert (result.reason, result.turns, result.rounds) == ("max_rounds", 6, 2)
    assert speakers(result) == ["ann", "bob", "cyd"] * 2
    texts = [message.content for message in result.dialog.messages]
    assert [call["seen"] for call in shared.calls()] == [texts[:n] for n in range(6)]
    assert turn_events(job) == [
        pair for name in speakers(result) for pair in (("begin", name), ("end", name))
    ]
    checked(job, result)


def test_round_robin_stops_within_a_round(shared, checked):
    job = shared.submit(
        "round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(3), messages=["Hello, you two."]
    )
    result = result_of(job)

    assert speakers(result) == [None, "ann", "bob", "ann"]
    assert shared.calls()[0]["seen"] == ["Hello, you two."]
    checked(job, result)


def test_orchestrator_choices_are_followed(shared, checked):
    agents = {"orchestrator": "lead", "coder": "say", "tester": "say", "writer": "say"}
    job = shared.submit("orchestrated", agents)
    result = result_of(job)

    assert (result.reason, result.ok) == ("satisfied", True)
    said = speakers(result)
    assert said[:3] == ["orchestrator", "coder", "orchestrator"]
    assert sorted(said[3:5]) == ["tester", "writer"]
    assert said[5:] == ["orchestrator"]
    calls = {call["turn"]: call for call in shared.calls()}
    assert calls[2]["instruction"] == "write it"
    told = {call["me"]: call["instruction"] for call in calls.values() if call["me"] in ("tester", "writer")}
    assert told == {"tester": "break it", "writer": "tell it"}
    texts = [message.content for message in result.dialog.messages]
    beside = [call["seen"] for call in calls.values() if call["me"] in ("tester", "writer")]
    assert beside == [texts[:3], texts[:3]], "side by side, nobody sees the other"
    assert calls[6]["expects"] == "decision"
    checked(job, result)


def test_orchestrator_gets_the_ledger_as_data(shared):
    agents = {"orchestrator": "lead", "coder": "say", "tester": "say", "writer": "say"}
    result_of(shared.submit("orchestrated", agents, stop=MaxRounds(4)))

    calls = [call for call in shared.calls() if call["expects"] == "decision"]
    assert all(call["ledger"] is None for call in shared.calls() if call["expects"] != "decision")
    first, second = (call["ledger"] for call in calls[:2])
    assert (first["round"], first["rounds_left"], first["decisions"]) == (1, 4, [])
    assert (second["round"], second["rounds_left"]) == (2, 3)
    assert [it["participant_id"] for it in second["participants"]] == ["coder", "tester", "writer"]
    decided = second["decisions"][0]
    assert decided["round"] == 1
    closed = [(it["number"], it["participant"], it["outcome"]) for it in second["turns"]]
    assert closed[:2] == [(1, "orchestrator", "message"), (2, decided["next"][0], "message")]


def test_pair_alternates_until_the_navigator_approves(shared, checked):
    job = shared.submit("pair", {"driver": "say", "navigator": "navigator"})
    result = result_of(job)

    assert speakers(result) == ["driver", "navigator"] * 2
    assert (result.reason, result.rounds) == ("approved", 2)
    assert [call["expects"] for call in shared.calls()] == ["message", "review"] * 2
    checked(job, result)


def test_broadcast_answers_do_not_see_each_other(shared, checked):
    agents = {"ann": "say", "bob": "say", "cyd": "say", "sum": "say"}
    job = shared.submit("broadcast", agents, options={"aggregator": "sum"}, messages=["What do you think?"])
    result = result_of(job)

    said = speakers(result)
    assert sorted(said[1:4]) == ["ann", "bob", "cyd"]
    assert said[4:] == ["sum"]
    calls = {call["me"]: call["seen"] for call in shared.calls()}
    assert calls["ann"] == calls["bob"] == calls["cyd"] == ["What do you think?"]
    assert len(calls["sum"]) == 4
    events = turn_events(job)
    assert events[0] == ("sent", None)
    assert Counter(kind for kind, _ in events) == {"sent": 1, "begin": 4, "end": 4, "received": 3}
    checked(job, result)


def test_swarm_works_on_each_item_once(shared, checked):
    job = shared.submit(
        "swarm",
        {"ann": "claimer", "bob": "claimer", "tess": "claimer"},
        roles={"tess": "tester"},
        options={"items": [{"text": "plan"}, {"text": "paint"}]},
    )
    result = result_of(job)

    assert result.reason == "board_empty"
    worked = Counter(call["item"] for call in shared.calls())
    assert worked == {"plan": 1, "paint": 1, "build": 1, "test": 1}
    by = {call["item"]: call["me"] for call in shared.calls()}
    assert by["test"] == "tess"
    assert {entry.status for entry in job.board()} == {"done"}
    checked(job, result)


def broadcast_sent(job):
    (sent,) = [it for it in job.events() if it.event_type == "MAPBroadcastSent"]
    received = [
        it.payload["receiver_role_id"] for it in job.events() if it.event_type == "MAPBroadcastReceived"
    ]
    return sent.initiator_role, sent.payload["message"]["content"], sent.target_roles, sorted(received)


def test_broadcast_event_names_the_question_of_the_user(shared, checked):
    job = shared.submit("broadcast", {"ann": "say", "bob": "say"}, messages=["What do you think?"])
    checked(job, result_of(job))
    assert broadcast_sent(job) == ("user", "What do you think?", ("ann", "bob"), ["ann", "bob"])


def test_broadcast_of_an_orchestrator_follows_the_golden_flow(shared, checked):
    """map-flow-02: the orchestrator asks, the searchers answer, the orchestrator aggregates."""
    agents = {"orchestrator-1": "say", "a": "say", "b": "say", "c": "say"}
    job = shared.submit("broadcast", agents, options={"aggregator": "orchestrator-1"})
    result = result_of(job)
    checked(job, result)
    assert speakers(result)[::4] == ["orchestrator-1"] * 2
    question = result.dialog.messages[0].content
    assert broadcast_sent(job) == ("orchestrator-1", question, ("a", "b", "c"), ["a", "b", "c"])


def test_open_turns_of_a_broadcast_have_no_single_holder(shared, checked):
    gate = shared.folder / "gate"
    given = {"gate": str(gate), "gate_turn": 1}
    job = shared.submit("broadcast", {"ann": "gated", "bob": "gated"}, parameters=given)
    until(lambda: job.state().open_turns(), what="the turns are open")
    state = job.turn_state()
    assert (state.current_turn_holder, state.turn_index) == (None, -1)
    assert state.advanced().current_turn_holder == "ann"
    gate.touch()
    checked(job, result_of(job))


@pytest.mark.parametrize("mode", ["round_robin", "broadcast", "pair"])
def test_written_documents_are_valid_under_the_schemas(shared, mode, mplp):
    job = shared.submit(mode, {"ann": "say", "bob": "say"}, stop=MaxRounds(1), messages=["Go."])
    result = result_of(job)

    mplp.validate("collab", result.collab.to_wire())
    mplp.validate("dialog", result.dialog.to_wire())
    for event in job.events():
        mplp.validate("map-event", event.to_wire())
