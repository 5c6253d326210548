"""`plan`: compare-and-set on the session's version."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from sessions.table import Table, turn
from symposia.models.protocol.dialog import Message, Role, build_turn_message
from symposia.models.sessions.plan import BoardEntry, Finish, Step
from symposia.models.text.ids import new_id, utcnow
from symposia.models.turns.items import WorkItem
from symposia.state.sessions.steering import SteeringStore


def test_turn_numbers_start_at_one_and_never_repeat(table):
    assert table.plan(turn("ann"), turn("bob", "slot:bob")) == (1, 2)
    table.speak(1, "hello")
    assert table.plan(turn("cyd", "slot:cyd")) == (3,)
    assert table.state().next_number == 4


def test_step_planned_twice_exists_once(table):
    write = table.write(Step(turns=(turn(),)))
    first, second = (table.store.plan(table.id, write) for _ in range(2))
    assert (first.word, first.numbers) == ("planned", (1,))
    assert (second.word, second.numbers) == ("outdated", ())
    assert second.state.planned_by == write.plan_id, "a planner whose answer was lost knows its own plan"
    assert len(second.state.open_turns()) == 1


def test_one_of_eight_concurrent_planners_wins(table):
    for _ in range(10):
        state = table.state()
        writes = [table.write(Step(turns=(turn(),)), state=state) for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda write: table.store.plan(table.id, write), writes))
        assert sorted(answer.word for answer in answers) == ["outdated"] * 7 + ["planned"]
        won = next(write for write, answer in zip(writes, answers, strict=True) if answer.word == "planned")
        assert {answer.state.planned_by for answer in answers} == {won.plan_id}
        assert all(answer.state.version == state.version + 1 for answer in answers)
    assert table.state().next_number == 11


def test_plan_consumes_only_its_results(table):
    one, two = table.plan(turn("ann"), turn("bob", "slot:bob"))
    table.speak(one)
    seen_one = table.write(Step(state={"seen": 1}))
    table.speak(two, scope="slot:bob")
    assert table.store.plan(table.id, seen_one).word == "planned"
    state = table.state()
    assert [record.number for record in state.unconsumed()] == [two]
    assert json.loads(state.planner) == {"seen": 1}
    assert json.loads(state.records[two].result)["number"] == two


def test_planner_reads_back_its_state_round_and_board(table):
    item = WorkItem(item_id="i1", text="do it")
    table.plan(turn(), state={"cursor": 2}, ends_round=True, board=(BoardEntry(item=item, status="open"),))
    state = table.state()
    assert json.loads(state.planner) == {"cursor": 2}
    assert state.ends_round
    assert BoardEntry.model_validate_json(table.store.board(table.id)["i1"]).item == item


def test_planned_turn_is_stored_as_written(table):
    planned = turn("bob", instruction="Say “hé” \\ / \x00", item=WorkItem(item_id="i", text="é"))
    table.plan(planned)
    record = table.state().records[1]
    assert type(planned).model_validate_json(record.plan) == planned
    assert (record.participant, record.scope, record.status, record.grants) == ("bob", "floor", "planned", 0)


def test_turn_without_a_snapshot_sees_what_follows_its_plan(table):
    one, two = table.plan(turn("ann"), turn("bob", "slot:bob"))
    table.speak(one, "later")
    ((_, only),) = table.grant(two, scope="slot:bob").messages
    assert "later" in only


def test_paused_or_ended_session_takes_no_plan(table):
    write = table.write(Step(turns=(turn(),)))
    table.suspend()
    assert table.store.plan(table.id, write).word == "inactive"
    table.cancel()
    assert table.store.plan(table.id, write).word == "inactive"
    assert table.state().next_number == 1


def test_plan_for_a_missing_session_is_missing(table):
    write = table.write(Step(turns=(turn(),)))
    table.client.flushall()
    assert table.store.plan(table.id, write).word == "missing"


def test_a_broadcast_is_announced_to_all_it_asks(table):
    table.plan(
        turn("bob", "slot:bob", broadcast=True), turn("cyd", "slot:cyd", broadcast=True), announce="Ideas?"
    )
    (sent,) = table.events("MAPBroadcastSent")
    assert sent["target_roles"] == ["bob", "cyd"]
    expected = {"broadcaster_role_id": "user", "target_count": 2, "message": {"content": "Ideas?"}}
    assert sent["payload"] == expected
    assert sent["initiator_role"] == "user", "the user asked: no orchestrator takes part"
    table.speak(1, "one", scope="slot:bob")
    (received,) = table.events("MAPBroadcastReceived")
    assert received["payload"]["receiver_role_id"] == "bob"
    assert received["payload"]["response"]["turn_number"] == 1


def test_broadcast_of_a_turn_names_its_speaker_and_message(client):
    table = Table(client, names=("orchestrator-1", "bob", "cyd"))
    table.plan_one(participant="orchestrator-1")
    table.speak(1, "Which book?")
    asked = turn("bob", "slot:bob", broadcast=True), turn("cyd", "slot:cyd", broadcast=True)
    table.plan(*asked, announce="", announced_turn=1)
    (sent,) = table.events("MAPBroadcastSent")
    assert sent["initiator_role"] == sent["payload"]["broadcaster_role_id"] == "orchestrator-1"
    assert sent["payload"]["message"] == {"content": "Which book?"}
    assert sent["target_roles"] == ["bob", "cyd"]


def test_broadcast_without_a_text_sends_the_purpose(table):
    table.plan(turn("bob"), announce="")
    assert table.payloads("MAPBroadcastSent")[0]["message"] == {"content": table.collab.purpose}


def post(table, *messages):
    for role, text in messages:
        message = Message(role=role, content=text, timestamp=utcnow()).to_json()
        assert (
            SteeringStore(table.client).post(table.id, message, request=new_id(), about={}).word == "posted"
        )


def broadcast_text(table, **announced):
    table.plan(announce="", **announced)
    return table.payloads("MAPBroadcastSent")[0]["message"]["content"]


def test_broadcast_of_a_turn_skips_other_messages(table):
    one, two = table.plan(turn("ann"), turn("bob", "slot:bob"))
    table.speak(one, "Which book?")
    table.speak(two, "This one.", scope="slot:bob")
    post(table, (Role.USER, "By the way."))
    assert broadcast_text(table, announced_turn=one) == "Which book?"


def test_broadcast_of_the_user_sends_the_newest_post(table):
    post(table, (Role.USER, "Old."), (Role.USER, "New."), (Role.SYSTEM, "Mind the gap."))
    grant = table.grant(table.plan_one())
    place = {"participant_id": "ann", "turn_number": 1, "token_id": grant.token, "fence": grant.fence}
    answer = build_turn_message(Role.USER, "A person's turn.", timestamp=utcnow(), **place)
    assert table.commit(grant, "", messages=(answer.to_json(),)).word == "committed"
    assert broadcast_text(table) == "New."


def test_broadcast_without_recipients_is_a_valid_event(table):
    table.plan(announce="Anyone?")
    (sent,) = table.events("MAPBroadcastSent")
    assert "target_roles" not in sent
    assert sent["payload"]["target_count"] == 0


def test_dropped_turn_frees_its_lock(table):
    one, two = table.plan(turn("ann"), turn("bob", "slot:bob"))
    grant = table.grant(one)
    table.plan(drop=(one,))
    assert table.owner() is None
    assert table.state().records[one].status == "dropped"
    assert table.outcomes() == ["dropped"]
    assert table.journal("turn.dropped") == [], "nothing was said in vain"
    assert not table.renew(grant)
    assert table.begin(one).word == "done"
    assert [record.number for record in table.state().open_turns()] == [two]


def test_dropping_a_turn_keeps_open_ones(table):
    numbers = table.plan(*(turn("ann", f"slot:{number}") for number in range(65)))
    table.plan(drop=numbers[-1:])
    assert [record.number for record in table.state().open_turns()] == list(numbers[:-1])


def test_dropping_a_turn_keeps_the_lock_of_another(table):
    one, two = table.plan(turn("ann"), turn("bob"))
    grant = table.grant(two)
    assert table.begin(one).word == "busy"
    table.plan(drop=(one,))
    assert table.owner() == grant.token
    assert table.commit(grant, "still mine").word == "committed"


def test_dropping_an_expired_turn_keeps_the_next_lock(table):
    one, two = table.plan(turn("ann"), turn("bob"))
    late = table.grant(one)
    table.expire()
    grant = table.grant(two)
    table.plan(drop=(one,))
    assert table.owner() == grant.token
    assert not table.renew(late)
    assert table.renew(grant)


def test_turn_that_closed_meanwhile_is_not_dropped(table):
    one = table.plan_one()
    write = table.write(Step(drop=(one,)))
    table.speak(one, "just in time")
    assert table.store.plan(table.id, write).word == "planned"
    assert table.state().records[one].status == "closed"
    assert table.outcomes() == ["message"]


@pytest.mark.parametrize("aborted", [False, True])
def test_finish_is_written_like_a_plan(table, aborted):
    table.speak(table.plan_one(), "hello")
    write = table.write(Finish(reason="satisfied", detail="all said", aborted=aborted), rounds=1)
    answer = table.store.plan(table.id, write)
    assert answer.word == "planned"
    assert answer.state.status == ("cancelled" if aborted else "completed")
    assert (answer.state.reason, answer.state.detail, answer.state.rounds) == ("satisfied", "all said", 1)
    assert answer.state.ended_ms is not None
    assert table.store.plan(table.id, write).word == "inactive"
