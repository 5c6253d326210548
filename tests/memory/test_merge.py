"""Merging statements: later ones win, absent values change nothing, forgetting is final."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialog_memory.values import SERVICES, after, at, known, statement, statements, written
from symposia.memory.merge import (
    MAX_FORGOTTEN,
    Statement,
    WriteMetadata,
    with_write_metadata,
    write_mark,
)
from symposia.models.memory.parameters import is_stated
from symposia.models.memory.state import MAX_SESSIONS, MAX_WRITES, MemoryState


def test_new_value_replaces_only_its_parameter():
    state = after(statement(1, **{"from": "Nairobi", "to": "London"}), statement(2, **{"from": "Mombasa"}))
    assert state.values() == {"to": "London", "from": "Mombasa"}


@pytest.mark.parametrize("nothing", [None, "", [], {}])
def test_absent_values_overwrite_nothing(nothing):
    assert after(statement(1, to="London"), statement(2, to=nothing)).values() == {"to": "London"}
    assert after(statement(1, to=nothing)).values() == {}


@pytest.mark.parametrize("value", [0, False, 0.0, "0", " ", [0], {"a": None}])
def test_zero_and_false_are_values(value):
    assert after(statement(1, to="London"), statement(2, to=value)).values() == {"to": value}


def test_switching_services_erases_nothing():
    state = after(statement(1, to="London"), statement(2, "payment", amount=5000), statement(3, "travel"))
    assert state.service == "travel"
    assert state.values() == {"to": "London"}
    assert state.values("payment") == {"amount": 5000}


def test_older_statement_does_not_overwrite():
    state = after(
        statement(5, "payment", amount=1),
        statement(4, "travel", to="London"),
        statement(3, "payment", amount=2),
    )
    assert state.service == "payment"
    assert state.values("payment") == {"amount": 1}
    assert state.values("travel") == {"to": "London"}


def test_earlier_turn_restores_no_forgotten_value():
    state = after(
        statement(1, to="London"),
        statement(3, forget=("to",)),
        statement(2, to="Paris"),
        statement(3, to="Rome"),
    )
    assert state.values() == {}
    assert after(statement(4, to="Oslo"), state=state).values() == {"to": "Oslo"}


def test_forget_and_set_in_one_turn_sets():
    state = after(statement(1, to="London"), statement(2, forget=("to",), to="Paris"))
    assert state.values() == {"to": "Paris"}


def test_forgetting_keeps_later_values():
    assert after(statement(5, to="London"), statement(4, forget=("to",))).values() == {"to": "London"}


def test_forgetting_everything_covers_every_service():
    state = after(
        statement(1, to="London"), statement(2, "payment", amount=1), Statement(None, 3, forget_all=True)
    )
    assert (state.service, dict(state.service_memories), state.message_count) == (None, {}, 0)
    late = after(statement(2, to="Paris"), statement(3, "search", query="x"), state=state)
    assert dict(late.service_memories) == {}
    assert after(statement(4, to="Oslo"), state=late).values("travel") == {"to": "Oslo"}


def test_many_forgotten_names_become_one_time_limit():
    state = MemoryState()
    for number in range(1, MAX_FORGOTTEN + 11):
        state = after(statement(number, forget=(f"p{number}",)), state=state)
    assert len(state.service_memory("travel").forgotten) == MAX_FORGOTTEN
    for number in range(1, MAX_FORGOTTEN + 11):
        assert after(statement(number, **{f"p{number}": "again"}), state=state).values() == {}


def test_metadata_record_writers_and_count():
    state = MemoryState()
    for turn in range(1, 31):
        state = with_write_metadata(
            state, WriteMetadata(turn * 10, mark=write_mark("s1", turn), by=f"p{turn}", session=f"s{turn}")
        )
    assert (state.message_count, state.last_updated_by, state.timestamp_ms) == (30, "p30", 300)
    assert state.sessions == tuple(f"s{n}" for n in range(31 - MAX_SESSIONS, 31))
    assert len(state.write_marks) == MAX_WRITES
    assert state.write_marks[-1] == write_mark("s1", 30)


def test_turn_is_later_than_the_state_it_read():
    state = after(statement(1_000, to="London"), statement(2_000, forget=("from",)))
    assert state.stamp(500) == 2_001
    assert state.stamp(5_000) == 5_000
    assert after(statement(state.stamp(500), to="Paris"), state=state).values() == {"to": "Paris"}


@given(st.lists(statements(), max_size=8), statements())
def test_the_same_statement_again_changes_nothing(earlier, it):
    once = after(*earlier, it)
    assert known(after(it, state=once)) == known(once)
    assert after(it, state=once).service == once.service


@given(st.lists(statements(), min_size=1, max_size=8), st.randoms())
def test_statements_may_arrive_in_any_order(said, random):
    said = [at(it, number) for number, it in enumerate(said, 1)]
    shuffled = list(said)
    random.shuffle(shuffled)
    assert known(after(*shuffled)) == known(after(*said))


@given(st.lists(statements(), max_size=8), statements())
def test_the_later_statement_wins(earlier, it):
    state = after(*earlier)
    last = at(it, state.stamp(100))
    if last.forget_all:
        assert known(after(last, state=state)) == {}
        return
    values = after(last, state=state).values(last.service)
    for name, remembered in last.parameters.items():
        if is_stated(remembered.value):
            assert values[name] == remembered.value
    for name in set(last.forget) - last.parameters.keys():
        assert name not in values


@given(st.lists(statements(), max_size=8), st.integers(1, 50), st.lists(statements(), max_size=8))
def test_forgotten_value_stays_forgotten_in_any_order(earlier, when, late):
    forgotten = after(*earlier, *(Statement(service, when, forget=("to",)) for service in SERVICES))
    state = after(*(at(it, min(it.at_ms, when)) for it in late), state=forgotten)
    for service in SERVICES:
        survivor = state.service_memory(service).parameters.get("to")
        assert survivor is None or survivor.at_ms > when


@given(st.lists(statements(), max_size=8))
def test_only_stated_values_are_remembered(said):
    state = written(after(*said))
    assert all(is_stated(remembered.value) for remembered in known(state).values())


@given(st.permutations([statement(1), statement(3, "search"), statement(5)]))
def test_current_service_is_the_latest_in_any_order(order):
    assert after(*order).service == "travel"
