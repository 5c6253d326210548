"""Turns that wait for a provider's batch in Redis: reservation, handle, stop, and the turns of one batch."""

from __future__ import annotations

from sessions.table import Table
from symposia.models.sessions.limits import ReservationRequest, UnitReservation
from symposia.models.turns.turn import Usage
from symposia.state.turns.batch_members import BatchMembers
from symposia.state.turns.parked import ReplyRule


def park(table: Table) -> int:
    """Park a turn that has reserved 60 tokens and has spent 15 of them."""
    number = table.plan_one()
    tokens = UnitReservation(limit=100, most=60, least=60)
    grant = table.grant(number, limit_request=ReservationRequest(tokens=tokens))
    spent = {grant.token: Usage(input_tokens=10, output_tokens=5)}
    assert table.park(grant, "r", batch="handle", spent=spent).word == "parked"
    return number


def test_reservation_is_kept_until_the_batch_has_ended(table: Table):
    number = park(table)
    record = table.state().records[number]
    assert (record.reserved.tokens, record.batch) == (45, "handle")
    record = table.reply(number, "r", "q", None, rule=ReplyRule.CHILD).state.records[number]
    assert (record.status, record.reserved.tokens, record.batch) == ("planned", 0, None)


def test_dropped_turn_names_its_batch(table: Table):
    number = park(table)
    record = table.cancel().records[number]
    assert (record.status, record.reserved.tokens, record.batch) == ("dropped", 0, "handle")


def test_stop_waits_for_a_batch(table: Table):
    park(table)
    table.store.request_stop(table.id)
    assert not table.store.sweep(table.id, grace_ms=0).advance


def test_last_turn_of_a_batch_is_known(table: Table):
    members = BatchMembers(table.client)
    for number in (1, 2, 2):
        members.add("b", table.id, number)
    assert not members.is_last("b", table.id, 2)
    assert [members.remove("b", table.id, number) for number in (1, 1)] == [False, False]
    assert [members.is_last("b", table.id, number) for number in (1, 2)] == [False, True]
    assert [members.remove("b", table.id, 2) for _ in range(2)] == [True, False]
