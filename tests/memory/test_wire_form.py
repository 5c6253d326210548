"""The stored form: JSON with the documented fields at the top, and nothing else is taken for one."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialog_memory.values import after, known, statement, statements, written
from symposia.memory.wire_form import read_state, write_state
from symposia.models.errors import CorruptMemory
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
