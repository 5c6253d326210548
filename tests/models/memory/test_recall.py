"""What a turn is shown: the merge by priority, how sure each parameter is, and what to ask for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dialog_memory.values import after, statement
from symposia.memory.merge import StatementOrigin, parse_statement
from symposia.memory.values import SharingConsent
from symposia.models.errors import InvalidInput
from symposia.models.memory.recall import RecallContext, recall
from symposia.models.memory.services import find_service
from symposia.models.memory.state import MemoryState, ServiceMemory, Source

TRAVEL = find_service("travel")
HOUR = 3_600_000
ASKER = RecallContext(now_ms=10 * HOUR, half_life_ms=6 * HOUR, session="s2")


def view(state: MemoryState, **more):
    return recall(state, TRAVEL, more.pop("asker", ASKER), **more)


def spoken(at_ms: int, session: str = "s1", *, said=None, **words):
    return parse_statement(TRAVEL, StatementOrigin(at_ms, session, 1), said or {}, **words).require_valid()


def test_new_values_beat_remembered_and_defaults():
    state = after(
        spoken(9 * HOUR, said={"to": "London"}), spoken(10 * HOUR, "s2", said={"cabin_class": "first"})
    )
    elsewhere = ServiceMemory(
        dict(
            spoken(
                8 * HOUR,
                said={"to": "Oslo", "from": "Kisumu", "passenger_count": 2, "cabin_class": "economy"},
            ).parameters
        )
    )
    seen = view(
        state,
        defaults={"cabin_class": "business", "passenger_count": 1, "to": "Paris"},
        other_rooms=elsewhere,
    )
    assert seen.parameters == {"from": "Kisumu", "to": "London", "passenger_count": 1, "cabin_class": "first"}
    assert {name: it.source.value for name, it in seen.known.items()} == {
        "from": "carried",
        "to": "carried",
        "passenger_count": "default",
        "cabin_class": "said",
    }


def test_merge_precedes_the_required_check():
    assert view(after(spoken(9 * HOUR, said={"from": "Nairobi", "to": "London"}))).missing == ()
    seen = view(after(spoken(9 * HOUR, said={"return_date": "2026-02-20"})))
    assert seen.missing == ("from", "to")
    assert seen.ask == ("from", "to")


def test_confidence_decays_only_for_earlier_sessions():
    state = after(
        spoken(4 * HOUR, "s1", said={"from": "Nairobi"}), spoken(4 * HOUR, "s2", said={"to": "London"})
    )
    seen = view(state).known
    assert (seen["to"].source, seen["to"].confidence) == (Source.SAID, 1.0)
    assert (seen["from"].source, seen["from"].confidence) == (Source.CARRIED, 0.5)


def test_low_confidence_parameter_is_asked_for():
    state = after(spoken(3 * HOUR, said={"from": "Nairobi"}), spoken(9 * HOUR, said={"to": "London"}))
    seen = view(state)
    assert seen.ask == ("from",)
    assert seen.missing == ()
    assert seen.parameters == {"from": "Nairobi", "to": "London"}
    assert view(state, asker=replace(ASKER, ask_below=0.2)).ask == ()


def test_stated_value_wins_over_an_inferred_one():
    it = parse_statement(
        TRAVEL,
        StatementOrigin(1, "s2", 3),
        {"to": "London"},
        inferred={"to": "Paris", "cabin_class": "economy"},
        confidence={"cabin_class": 0.4},
    )
    seen = view(after(it.require_valid()))
    assert seen.parameters["to"] == "London"
    assert (seen.known["cabin_class"].source, seen.known["cabin_class"].confidence) == (Source.INFERRED, 0.4)
    assert seen.ask == ("from", "cabin_class")
    assert (
        parse_statement(TRAVEL, StatementOrigin(1), {}, inferred={"to": "Paris"})
        .require_valid()
        .parameters["to"]
        .confidence
        == 0.7
    )


def test_known_value_names_its_session_and_turn():
    seen = view(after(spoken(9 * HOUR, "s1", said={"to": "London"}))).known["to"]
    assert (seen.session, seen.turn) == ("s1", 1)


def test_values_without_a_service_are_not_merged():
    state = after(spoken(9 * HOUR, said={"to": "London"}))
    seen = recall(state, None, ASKER, said={"query": "x", "to": ""}, defaults={"to": "Oslo", "query": "y"})
    assert seen.parameters == {"to": "Oslo", "query": "x"}
    assert {name: it.source for name, it in seen.known.items()} == {
        "to": Source.DEFAULT,
        "query": Source.SAID,
    }
    assert (seen.service, seen.ask, seen.services) == (None, (), ("travel",))


def test_recall_without_a_service_names_known_ones():
    state = after(statement(1, to="London"), statement(2, "payment", amount=1))
    seen = recall(state, None, ASKER)
    assert (seen.service, seen.parameters, seen.services) == (None, {}, ("travel", "payment"))


def test_forgotten_value_is_not_read_from_other_rooms():
    elsewhere = ServiceMemory(dict(spoken(5, said={"to": "Oslo", "from": "Kisumu"}).parameters))
    state = after(statement(6, forget=("to",)))
    assert view(state, other_rooms=elsewhere).parameters == {"from": "Kisumu"}


def test_other_rooms_see_shared_parameters_only():
    sharing = SharingConsent().with_parameters(["travel.from"])
    sharing = sharing.apply_statements(
        [spoken(5, said={"from": "Nairobi", "to": "London"}), statement(6, "search", query="x")]
    )
    assert sharing.service_memory("travel", now_ms=10, ttl_ms=100).parameters.keys() == {"from"}
    assert sharing.service_memory("search", now_ms=10, ttl_ms=100).parameters == {}
    assert sharing.service_memory("travel", now_ms=1_000, ttl_ms=100).parameters == {}, "too old"
    assert (
        sharing.with_parameters(["travel.to"])
        .without_parameters(["travel.from"])
        .service_memory("travel", now_ms=10, ttl_ms=100)
        .parameters
        == {}
    )
    assert (
        sharing.apply_statements([statement(7, forget=("from",))])
        .service_memory("travel", now_ms=10, ttl_ms=100)
        .parameters
        == {}
    )


@pytest.mark.parametrize("name", ["payment.amount", "payment.recipient"])
def test_payment_is_never_shared(name):
    with pytest.raises(
        InvalidInput, match="must be a parameter of a service that allows sharing: payment does not"
    ):
        SharingConsent().with_parameters([name])


@pytest.mark.parametrize("name", ["from", "hotels.city", "travel."])
def test_shared_parameters_are_named_by_service(name):
    with pytest.raises(InvalidInput):
        SharingConsent().with_parameters([name])
