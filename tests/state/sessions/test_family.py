"""Trees of sessions in Redis: registration, reserved budgets of parked turns, and usage of sub-sessions."""

from __future__ import annotations

import pytest

from sessions.table import Table
from symposia.models.sessions.subsessions import ParentRef
from symposia.models.text.ids import new_id
from symposia.models.turns.turn import Usage
from symposia.state.sessions.family import FamilyStore
from symposia.state.turns.parked import ReplyRule


@pytest.fixture
def family(table: Table) -> FamilyStore:
    return FamilyStore(table.client)


def ref(table: Table, turn: int = 1, call: int = 0) -> ParentRef:
    return ParentRef.below(table.id, None, turn=turn, call=call)


def test_sub_session_is_registered_once(table, family):
    assert [family.adopt(ref(table), limit=1) for _ in range(2)] == ["adopted"] * 2
    assert family.adopt(ref(table, call=1), limit=1) == "full"
    (child,) = family.list_children(table.id)
    assert child == (ref(table).child_id, table.id, 1, 0)
    assert family.links(table.id).children == 1


def test_ended_session_gets_no_sub_session(table, family):
    family.adopt(ref(table), limit=9)
    table.cancel()
    assert family.adopt(ref(table, call=1), limit=9) == "ended"
    assert family.adopt(ref(table), limit=9) == "adopted", "it was registered before"
    assert family.adopt(ParentRef.below(new_id(), None, turn=1, call=0), limit=9) == "missing"


def test_ids_differ_by_parent_turn_and_call(table):
    refs = [
        ref(table),
        ref(table, turn=2),
        ref(table, call=1),
        ParentRef.below(new_id(), None, turn=1, call=0),
    ]
    assert len({it.child_id for it in refs}) == 4
    below = ParentRef.below(refs[0].child_id, refs[0], turn=1, call=0)
    assert (below.root, below.depth) == (table.id, 2)


def reserved(table: Table) -> list[str | None]:
    return table.client.hmget(f"symposia:{{{table.id}}}:session", "reserved_tokens", "reserved_cost")


def test_budget_of_a_sub_session_stays_reserved(table):
    number = table.plan_one()
    assert table.park(table.grant(number), "r", child=("child", 70, 5)).word == "parked"
    assert reserved(table) == ["70", "5"]
    assert table.state().records[number].child == "child"
    spent = {"child": Usage(input_tokens=40, cost_micros=2)}
    for _ in range(2):  # the second is a repetition
        answer = table.reply(number, "r", "q", ["said"], rule=ReplyRule.CHILD, spent=spent)
        assert answer.word == "replied"
    assert reserved(table) == ["0", "0"]
    assert table.state().usage == Usage(input_tokens=40, cost_micros=2)


def test_returned_turn_keeps_the_usage_and_no_reservation(table):
    number = table.plan_one()
    table.park(table.grant(number), "r", child=("child", 70, 5))
    spent = {"child": Usage(input_tokens=40)}
    answer = table.reply(number, "r", "q", None, rule=ReplyRule.CHILD, spent=spent)
    record = answer.state.records[number]
    assert (record.status, record.child, record.reserved.tokens) == ("planned", None, 0)
    assert record.spent == spent


def test_dropped_turn_names_its_sub_session(table):
    number = table.plan_one()
    table.park(table.grant(number), "r", child=("child", 70, 5))
    state = table.cancel()
    assert (state.records[number].status, state.records[number].child) == ("dropped", "child")
    assert reserved(table) == ["0", "0"]


def test_stop_waits_for_a_sub_session(table):
    table.park(table.grant(table.plan_one()), "r", child=("child", 0, 0))
    table.store.request_stop(table.id)
    assert not table.store.sweep(table.id, grace_ms=0).advance


def test_sweep_names_the_parent_of_a_sub_session(table):
    answer = table.store.sweep(table.id, grace_ms=10_000)
    assert answer.parent == ""
    table.client.hset(f"symposia:{{{table.id}}}:session", "parent", "p|3")
    answer = table.store.sweep(table.id, grace_ms=10_000)
    assert answer.parent == "p|3"
    assert answer.due_ms <= answer.state.now_ms + 60_000
