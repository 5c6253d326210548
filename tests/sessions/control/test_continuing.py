"""Sessions that continue others and forks of sessions, on a real worker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from live import result_of
from symposia.models.errors import InvalidInput
from symposia.models.protocol.invariants import INVARIANTS

CHAIN = 5

AGENTS = {
    "round_robin": {"ann": "say", "bob": "say"},
    "pair": {"ann": "say", "bob": "navigator"},
    "broadcast": {"ann": "say", "bob": "say"},
    "orchestrated": {"orchestrator": "lead", "coder": "say", "tester": "say", "writer": "say"},
    "swarm": {"ann": "claimer", "bob": "claimer"},
}
OPTIONS = {"swarm": {"items": [{"text": f"item {number}"} for number in range(4)]}}
STOPS = {"round_robin": {"max_rounds": 2}, "broadcast": {"max_rounds": 2}}


def run(shared, mode="round_robin", **more):
    stop, options = STOPS.get(mode, {"max_turns": 6}), OPTIONS.get(mode)
    job = shared.submit(mode, AGENTS[mode], stop=stop, options=options, **more)
    result_of(job)
    return job


def said(job) -> list[str]:
    return [message.content for message in job.messages()]


def seen_by_each_turn(job) -> dict[int, list[str]]:
    lines = map(json.loads, Path(job.spec.parameters["log"]).read_text().splitlines())
    return {line["turn"]: line["seen"] for line in lines if line.get("session") in (None, job.id)}


def check(job, mplp, checked) -> None:
    result = result_of(job)
    checked(job, result)
    broken = INVARIANTS["map_exclusive_write"].check(list(job.messages()), list(job.events()))
    assert list(broken) == []
    mplp.validate("collab", result.collab.to_wire())
    mplp.validate("dialog", result.dialog.to_wire())


def test_agents_see_all_that_was_said_in_five_sessions(shared, mplp, checked) -> None:
    job = first = run(shared, messages=["Begin."])
    before = said(job)
    for number in range(CHAIN):
        Path(job.spec.parameters["log"]).write_text("")
        job = job.continue_with(f"And now {number}?")
        check(job, mplp, checked)
        own = said(job)
        assert own[0] == f"And now {number}?"
        seen = seen_by_each_turn(job)
        assert [seen[turn] for turn in range(1, 5)] == [[*before, *own[:turn]] for turn in range(1, 5)]
        before += own
    assert shared.client.thread(job.id)[0].id == first.id
    assert {it.dialog().thread_id for it in shared.client.thread(first.id)[1:]} == {first.id}
    assert len(shared.client.thread(first.id)) == CHAIN + 1


@pytest.mark.parametrize("mode", AGENTS)
def test_a_session_is_forked_at_every_turn(shared, mplp, checked, mode) -> None:
    job = run(shared, mode)
    turns = job.state().next_number - 1
    assert turns >= 2
    text = said(job)
    for turn in range(1, turns + 1):
        fork = job.fork(at_turn=turn)
        check(fork, mplp, checked)
        first = fork.spec.history.before_turn
        assert first <= turn
        assert min(it.turn_number for it in fork.messages()) == first
        if mode != "swarm":  # the order of turns side by side may differ
            assert sorted(said(job)) == sorted(
                [*(it.content for it in job.messages() if it.turn_number < first), *said(fork)]
            )
            assert fork.state().closed == job.state().closed
            assert fork.state().reason == job.state().reason
    assert said(job) == text


def test_a_fork_sees_the_messages_before_its_turn(shared) -> None:
    job = run(shared, messages=["Begin."])
    log = Path(job.spec.parameters["log"])
    before = seen_by_each_turn(job)
    log.write_text("")
    fork = job.fork(at_turn=3, instruct={"bob": "Be brief."}, agents={"ann": "moody"})
    result_of(fork)
    assert seen_by_each_turn(fork) == {turn: before[turn] for turn in (3, 4)}
    assert fork.spec.agents["bob"].instructions == "Be brief."
    assert fork.spec.agents["ann"].agent == "moody"
    log.write_text("")
    again = fork.fork(at_turn=4)
    result_of(again)
    assert seen_by_each_turn(again) == {4: before[4]}


def test_another_roster_continues_a_session(shared) -> None:
    job = run(shared)
    collab = {
        "title": "More",
        "purpose": "sum up",
        "mode": "round_robin",
        "participants": [{"participant_id": "eve"}],
    }
    log = shared.folder / "eve.jsonl"
    more = {"agents": {"eve": "say"}, "stop": {"max_turns": 1}, "parameters": {"log": str(log)}}
    last = shared.client.submit(collab, continues=job.id, messages=["Sum up."], **more)
    result_of(last)
    assert json.loads(log.read_text())["seen"] == [*said(job), "Sum up."]
    assert last.dialog().thread_id == job.id


def test_bad_requests_get_one_clear_line(shared) -> None:
    gate = {"gate": str(shared.folder / "gate")}
    running = shared.submit("round_robin", {"ann": "gated"}, stop={"max_turns": 1}, parameters=gate)
    with pytest.raises(InvalidInput, match="continues: must be the id of a session that has ended"):
        running.continue_with("Go on.")
    (shared.folder / "gate").touch()
    result_of(running)
    with pytest.raises(InvalidInput, match=r"at_turn: must be the number of a turn, 1 to 1 \(got 7\)"):
        running.fork(at_turn=7)
    with pytest.raises(InvalidInput, match="instruct: must be the id of a participant: ann"):
        running.fork(at_turn=1, instruct={"zed": "x"})
    with pytest.raises(InvalidInput, match="text: must not be blank"):
        running.continue_with(" ")
    with pytest.raises(InvalidInput, match="thread_id: must be the thread of the continued session"):
        shared.client.submit(continues=running.id, thread_id=running.spec.dialog_id)
