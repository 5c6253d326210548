"""`begin` in a session with limits: what a turn is given, when it waits, and when it never can begin."""

from __future__ import annotations

import pytest

from sessions.table import turn
from symposia.models.sessions.limits import ReservationRequest, UnitReservation
from symposia.models.turns.turn import Usage

SCOPES = ("a", "b", "c")


@pytest.fixture
def numbers(table):
    """Three turns that may run in parallel."""
    return table.plan(*(turn("ann", scope) for scope in SCOPES))


def begin(table, number, wish):
    return table.begin(number, scope=SCOPES[number - 1], limit_request=wish)


def tokens(limit=100, **want):
    return ReservationRequest(tokens=UnitReservation(limit=limit, **want))


def reserved(answer, number):
    return answer.state.records[number].reserved


def test_waiting_turns_share_the_remaining_budget(table, numbers):
    given = [reserved(begin(table, number, tokens()), number).tokens for number in numbers]
    assert given == [34, 33, 33]


def test_a_turn_that_waits_for_a_person_gets_no_share(table, numbers):
    one, two, three = numbers
    table.park(table.grant(one, scope="a"), "r")
    table.speak(two, "said", scope="b")
    assert reserved(begin(table, three, tokens()), three).tokens == 100


def test_takeover_keeps_the_share_of_a_turn(table):
    number = table.plan_one()
    for _ in range(2):
        assert reserved(table.begin(number, limit_request=tokens(most=60)), number).tokens == 60
        table.expire()
    assert reserved(table.begin(number, limit_request=tokens()), number).tokens == 100


def test_share_is_never_less_than_the_minimum(table, numbers):
    assert reserved(begin(table, 1, tokens(least=50)), 1).tokens == 50


def test_turn_may_get_all_that_remains(table, numbers):
    assert reserved(begin(table, 1, tokens(most=100)), 1).tokens == 100
    assert begin(table, 2, tokens(most=1)).word == "short"


def test_turn_may_get_all_that_others_leave(table, numbers):
    begin(table, 1, tokens(most=30))
    assert reserved(begin(table, 2, tokens(most=70)), 2).tokens == 70


def test_turn_takes_less_if_nothing_will_be_returned(table, numbers):
    table.commit(begin(table, 1, tokens(most=70)).grant, usage=Usage(output_tokens=70))
    assert reserved(begin(table, 2, tokens(most=70, least=30)), 2).tokens == 30


def test_turn_waits_while_another_may_return_budget(table, numbers):
    grant = begin(table, 1, tokens(most=70)).grant
    answer = begin(table, 2, tokens(most=70, least=30))
    assert (answer.word, answer.state.records[2].short) == ("short", (70, 0))
    table.commit(grant)
    answer = begin(table, 2, tokens(most=70, least=30))
    assert (answer.word, answer.state.records[2].short) == ("granted", None)


def test_turn_that_can_never_begin_is_exhausted(table, numbers):
    table.commit(begin(table, 1, tokens(most=70)).grant, usage=Usage(input_tokens=30, output_tokens=41))
    answer = begin(table, 2, tokens(most=70, least=30))
    assert (answer.word, answer.shortfall) == ("exhausted", ("tokens", 29, 70))


def test_turn_does_not_wait_for_its_own_share(table):
    number = table.plan_one()
    grant = table.begin(number, limit_request=tokens(most=60)).grant
    table.expire()
    table.store.book_usage(table.id, grant, {grant.token: Usage(output_tokens=70)})
    answer = table.begin(number, limit_request=tokens(most=60, least=60))
    assert (answer.word, answer.shortfall) == ("exhausted", ("tokens", 30, 60))


def test_overspent_budget_leaves_nothing(table, numbers):
    table.commit(begin(table, 1, tokens(most=70)).grant, usage=Usage(output_tokens=130))
    assert begin(table, 2, tokens(most=70)).shortfall == ("tokens", 0, 70)


def test_units_have_separate_limits(table, numbers):
    def both(most):
        return ReservationRequest(
            tokens=UnitReservation(limit=100, most=10), cost=UnitReservation(limit=100, most=most)
        )

    table.commit(begin(table, 1, both(80)).grant, usage=Usage(output_tokens=1, cost_micros=80))
    assert begin(table, 2, ReservationRequest(tokens=UnitReservation(limit=100, most=99))).word == "granted"
    answer = begin(table, 3, ReservationRequest(cost=UnitReservation(limit=100, most=30, least=30)))
    assert (answer.word, answer.shortfall) == ("exhausted", ("cost", 20, 30))


def test_turn_that_lacks_one_unit_reserves_nothing(table, numbers):
    begin(table, 1, ReservationRequest(cost=UnitReservation(limit=100, most=80)))
    wish = ReservationRequest(
        tokens=UnitReservation(limit=100, most=10), cost=UnitReservation(limit=100, most=30, least=30)
    )
    answer = begin(table, 2, wish)
    assert (answer.word, reserved(answer, 2), answer.state.records[2].short) == ("short", (0, 0), (0, 30))
