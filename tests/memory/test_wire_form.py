"""The stored form: JSON with the documented fields at the top, and nothing else is taken for one; its size cap."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialog_memory.values import after, known, statement, statements, written
from symposia.memory.merge import Statement, WriteMetadata, with_write_metadata
from symposia.memory.wire_form import (
    MIN_BYTES,
    cap_learned,
    cap_state,
    oversized_parameters,
    read_state,
    write_state,
)
from symposia.models.errors import CorruptMemory
from symposia.models.memory.learned import Learned
from symposia.models.memory.state import MemoryState, Source

#: As the document shows it (section 2, "Cache Value").
DOCUMENTED = """{
  "timestamp": 1707129000,
  "service": "travel",
  "parameters": {
    "from": "Nairobi", "to": "London", "departure_date": "2026-02-10",
    "passenger_count": 1, "cabin_class": "economy", "preferred_airline": "Kenya Airways"
  },
  "metadata": {"last_updated_by": "travel_flights_connector", "message_count": 5, "conversation_id": "conv_456"}
}"""


def test_the_documented_state_is_read():
    state = read_state(DOCUMENTED)
    assert state.service == "travel"
    assert state.values()["preferred_airline"] == "Kenya Airways"
    assert (state.message_count, state.last_updated_by) == (5, "travel_flights_connector")
    assert state.conversation_id == "conv_456"
    assert state.timestamp_ms == 1_707_129_000_000
    assert {it.source for it in known(state).values()} == {Source.CARRIED}


def test_stored_form_has_the_documented_fields():
    data = json.loads(
        write_state(written(after(statement(1, **{"from": "Nairobi"})), now_ms=1_707_129_000_123))
    )
    assert data["timestamp"] == 1_707_129_000.123
    assert data["service"] == "travel"
    assert data["parameters"] == {"from": "Nairobi"}
    assert data["metadata"] == {
        "last_updated_by": "ann",
        "message_count": 1,
        "conversation_id": "",
        "updated_at": "2024-02-05T10:30:00.123Z",
    }


def test_current_service_is_at_the_top_level():
    data = json.loads(
        write_state(written(after(statement(1, to="London"), statement(2, "payment", amount=1))))
    )
    assert (data["service"], data["parameters"]) == ("payment", {"amount": 1})
    assert data["others"]["travel"]["parameters"] == {"to": "London"}


@given(st.lists(statements(), max_size=8))
def test_written_state_is_read_back(said):
    state = written(after(*said))
    assert read_state(write_state(state)) == state


@pytest.mark.parametrize(
    "text",
    [
        *("", "null", "[]", "7", '"text"', "{", "not json", "NaN", '{"timestamp": 1}', "[" * 100_000),
        '{"timestamp": "now", "service": "travel", "parameters": {}}',
        '{"timestamp": true, "service": "travel", "parameters": {}}',
        '{"timestamp": 1e300, "service": "travel", "parameters": {}}',
        '{"timestamp": NaN, "service": "travel", "parameters": {}}',
        '{"timestamp": 1, "service": 7, "parameters": {}}',
        '{"timestamp": 1, "service": "travel", "parameters": [1]}',
        '{"timestamp": 1, "service": "travel", "parameters": {"to": NaN}}',
        '{"timestamp": 1, "service": "travel", "parameters": {"to": 1}, "notes": {"to": {"at": "x"}}}',
        '{"timestamp": 1, "service": "travel", "parameters": {"to": 1}, "notes": {"to": {"at": 1, "source": "?"}}}',
        '{"timestamp": 1, "service": "travel", "parameters": {}, "others": {"payment": 3}}',
        '{"timestamp": 1, "service": "travel", "parameters": {}, "metadata": {"message_count": "many"}}',
        '{"timestamp": 1, "service": "travel", "parameters": {}, "sessions": 7}',
        '{"timestamp": 1, "service": "travel", "parameters": {"to": "\\ud800"}}',
        '{"timestamp": 1, "service": "travel", "parameters": {"to": {"\\ud800": 1}}}',
        '{"timestamp": 1, "service": "travel", "parameters": {"to": %s}}' % ("[" * 300 + "]" * 300),
        '{"timestamp": 1, "service": "travel", "parameters": {"to": 1}, "notes": {"to": {"at": 1%s}}}'
        % ("0" * 30),
        '{"timestamp": 1, "service": "travel", "parameters": {"to": 1}, "notes": {"to": {"at": -1}}}',
        '{"timestamp": 1, "service": "travel", "parameters": {}, "floor": 1%s}' % ("0" * 30),
    ],
)
def test_other_values_are_corrupt(text):
    with pytest.raises(CorruptMemory):
        read_state(text)


def test_surrogate_pairs_are_read_as_one_character():
    state = read_state('{"timestamp": 1, "service": "travel", "parameters": {"to": "\\ud83d\\ude00"}}')
    assert state.values() == {"to": "\N{GRINNING FACE}"}


@given(st.text() | st.binary().map(lambda raw: raw.decode(errors="replace")))
def test_any_text_is_a_state_or_corrupt(text):
    with suppress(CorruptMemory):
        assert isinstance(read_state(text), MemoryState)


def test_memory_within_the_cap_is_unchanged():
    state = written(after(statement(1, to="London")))
    fit = cap_state(state, max_bytes=10_000)
    assert (fit.state, fit.evicted) == (state, ())


def test_least_recently_set_parameter_is_dropped_first():
    state = after(
        statement(1, "search", query="x" * 900),
        statement(2, to="y" * 900),
        statement(3, to="z" * 900, **{"from": "w" * 900}),
    )
    fit = cap_state(written(state), max_bytes=MIN_BYTES + 200)
    assert fit.evicted == ("search.query",)
    assert fit.state.values("travel").keys() == {"to", "from"}
    assert fit.state.service_memory("search").parameters == {}


def test_parameter_set_again_is_recent_again():
    state = after(
        statement(1, **{"from": "a" * 700}),
        statement(2, to="b" * 700),
        statement(3, **{"from": "c" * 700}),
        statement(4, cabin_class="d" * 700),
    )
    assert cap_state(written(state), max_bytes=MIN_BYTES + 100).evicted == ("travel.to",)


def test_bytes_are_counted_and_not_characters():
    state = written(after(statement(1, query="é" * 1_000), statement(2, to="ü" * 1_000)))
    fit = cap_state(state, max_bytes=3_000)
    assert fit.evicted == ("travel.query",)
    assert len(fit.text.encode()) <= 3_000


def test_parameter_over_the_cap_is_refused_by_name():
    it = statement(1, to="x" * 20_000, **{"from": "Nairobi"})
    assert oversized_parameters(it, max_bytes=10_000) == ("to",)
    assert oversized_parameters(it, max_bytes=100_000) == ()


def test_tombstones_are_replaced_by_an_equal_cutoff():
    names = tuple("n" * 60 + str(number) for number in range(30))
    state = written(after(statement(1, to="x" * 500), statement(2, forget=names)))
    fit = cap_state(state, max_bytes=MIN_BYTES)
    assert fit.evicted == ()
    assert fit.state.cutoff_ms == 2
    assert after(statement(2, **{names[0]: "again"}), state=fit.state).values() == {"to": "x" * 500}


def test_long_author_and_many_sessions_fit_the_cap():
    state = after(statement(1, to="x"))
    for number in range(20):
        author = "é" * 200
        state = with_write_metadata(
            state,
            WriteMetadata(
                1, mark=f"{number:012}", by=author, conversation_id=author, session=f"{number:036}"
            ),
        )
    fit = cap_state(state, max_bytes=MIN_BYTES)
    assert len(fit.text.encode()) <= MIN_BYTES


def test_learned_parameters_of_a_turn_are_capped():
    learned = Learned(
        parameters={"to": "x" * 600, "from": "y" * 600},
        inferred={"query": "z" * 600, "note": "n"},
        forget=("a",),
    )
    kept, left_out = cap_learned(learned, max_bytes=1_000)
    assert left_out == ("from", "query")
    assert kept == Learned(parameters={"to": "x" * 600}, inferred={"note": "n"}, forget=("a",))
    assert cap_learned(learned, max_bytes=10_000) == (learned, ())


big = st.builds(
    lambda at_ms, name, size: statement(at_ms, **{name: "é" * size}),
    st.integers(1, 50),
    st.sampled_from([f"p{n}" for n in range(20)]),
    st.integers(1, 450),
)


@given(st.lists(big | statements(), max_size=30))
def test_no_state_ever_exceeds_the_cap(said: list[Statement]):
    state = written(after())
    for it in said:
        if not oversized_parameters(it, max_bytes=MIN_BYTES):
            fit = cap_state(written(after(it, state=state)), max_bytes=MIN_BYTES)
            state = fit.state
            assert len(fit.text.encode()) <= MIN_BYTES
            assert read_state(fit.text) == state


@given(st.lists(statements(), max_size=6), st.lists(big, max_size=20))
def test_cap_restores_no_forgotten_value(said, pressure):
    gone = Statement("travel", 50, forget=("to",))
    state = after(*said, gone)
    before = state.service_memory("travel").parameters.get("to")
    state = cap_state(written(after(*pressure, state=state)), max_bytes=MIN_BYTES).state
    state = after(*said, state=state)
    survivor = state.service_memory("travel").parameters.get("to")
    assert survivor is None or survivor == before
