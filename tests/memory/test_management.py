"""What people may ask of the memory: to see it, to take it along, to have it forgotten, to share it."""

from __future__ import annotations

import json

import pytest

from symposia.memory.rooms import DialogMemory
from symposia.models.errors import InvalidInput, RedisUnavailable

HERE = (42, "room_123")
PAYMENT = {"amount": 5000, "recipient": "+254712345678"}


@pytest.fixture
def spoken(memory: DialogMemory) -> DialogMemory:
    memory.store(*HERE, PAYMENT, service="payment", updated_by="payer")
    memory.store(
        *HERE,
        {"from": "Nairobi", "to": "London"},
        service="travel",
        updated_by="parser",
        conversation_id="conv_456",
    )
    return memory


def test_show_lists_masked_parameters_with_metadata(spoken):
    report = spoken.show(*HERE)
    assert (report.service, report.message_count, report.last_updated_by) == ("travel", 2, "parser")
    assert 21_500 < report.ttl_s <= 21_600
    lines = {f"{line.service}.{line.name}": line for line in report.lines}
    assert lines["payment.recipient"].value == "****5678"
    assert lines["payment.amount"].value == 5000
    assert lines["travel.from"].value == "Nairobi"
    assert (lines["travel.to"].source, lines["travel.to"].confidence) == ("said", 1.0)
    assert lines["travel.to"].age_s < 600
    assert json.loads(json.dumps(report.to_json()))["parameters"][0].keys() == {
        *("service", "name", "value", "source", "confidence", "session", "turn", "age_s")
    }


def test_viewer_of_an_empty_room_shows_nothing(memory):
    report = memory.show(*HERE)
    assert (report.lines, report.ttl_s, report.updated_at) == ((), 0, "")


def test_an_export_is_whole_and_unmasked(spoken):
    export = spoken.export(*HERE, by="42")
    assert export["context"]["service"] == "travel"
    assert export["context"]["services"]["payment"]["parameters"]["recipient"]["value"] == "+254712345678"
    assert export["context"]["metadata"]["message_count"] == 2
    assert export["conversations"] == []
    assert json.loads(json.dumps(export)) == export


def test_forgetting_one_parameter_keeps_the_others(spoken):
    assert spoken.forget(*HERE, "from")
    assert spoken.get(*HERE)["parameters"] == {"to": "London"}
    assert spoken.show(*HERE).forgotten == {"travel": ("from",)}
    assert spoken.forget(*HERE, "recipient", service="payment")
    assert spoken.merge(*HERE, {}, service="payment") == {"amount": 5000}
    assert "+254712345678" not in spoken.kept.client.get("dialog:42:room_123")


def test_forgotten_value_may_be_set_again(spoken):
    spoken.forget(*HERE, "from")
    spoken.store(*HERE, {"from": "Mombasa"})
    assert spoken.get(*HERE)["parameters"]["from"] == "Mombasa"
    assert spoken.show(*HERE).forgotten == {}


def test_forgetting_an_unknown_value_returns_false(memory):
    assert not memory.forget(*HERE, "from")
    assert not memory.forget(*HERE)
    assert memory.forget(*HERE, "from", service="travel"), "an earlier turn may still be under way"


def test_whole_room_is_forgotten(spoken):
    spoken.store(42, "two", {"to": "Oslo"}, service="travel")
    assert spoken.forget_all(*HERE) == ["room_123"]
    assert spoken.get(*HERE) == {}
    assert spoken.rooms(42) == ["two"]
    assert spoken.show(*HERE).lines == ()
    assert spoken.get(42, "two")["parameters"] == {"to": "Oslo"}
    left = spoken.kept.client.get("dialog:42:room_123")
    assert not any(word in left for word in ("Nairobi", "London", "+254712345678", "payer", "conv_456"))


def test_forgetting_a_user_covers_rooms_and_sharing(spoken):
    spoken.share(42, ["travel.from"])
    spoken.store(42, "two", {"from": "Oslo"}, service="travel")
    spoken.store(7, "two", {"from": "Bergen"}, service="travel")
    assert spoken.forget_all(42) == ["room_123", "two"]
    assert spoken.shared(42) == ()
    assert spoken.rooms(42) == []
    assert spoken.get(42, "two") == {}
    assert spoken.forget_all(42) == []
    assert spoken.merge(42, "three", {}, service="travel") == {}
    assert spoken.get(7, "two")["parameters"] == {"from": "Bergen"}


def test_shared_values_reach_other_rooms_last(memory):
    memory.share(42, ["travel.from", "travel.passenger_count"])
    memory.store(42, "one", {"from": "Nairobi", "to": "London", "passenger_count": 2}, service="travel")
    assert memory.merge(42, "two", {}, service="travel") == {"from": "Nairobi", "passenger_count": 2}
    assert memory.merge(42, "two", {"from": "Kisumu"}, service="travel", defaults={"passenger_count": 1}) == {
        "from": "Kisumu",
        "passenger_count": 1,
    }
    known = memory.recall(42, "two", {}, service="travel").known["from"]
    assert (known.source, known.confidence) == ("carried", 0.8)
    assert memory.shared(42) == ("travel.from", "travel.passenger_count")
    memory.unshare(42, ["travel.passenger_count"])
    assert memory.merge(42, "two", {}, service="travel") == {"from": "Nairobi"}
    memory.unshare(42)
    assert memory.merge(42, "two", {}, service="travel") == {}


def test_share_adds_and_unshare_removes(memory):
    memory.store(42, "one", {"from": "Nairobi", "to": "London"}, service="travel")
    memory.share(42, ["travel.from"])
    memory.share(42, ["travel.to"])
    memory.share(42, [])
    assert memory.shared(42) == ("travel.from", "travel.to")
    memory.unshare(42, ["travel.from", "travel.max_price", "alchemy.gold"])
    assert memory.shared(42) == ("travel.to",)
    assert memory.merge(42, "two", {}, service="travel") == {"to": "London"}


def test_share_covers_earlier_values(memory):
    memory.store(42, "one", {"from": "Nairobi", "to": "London"}, service="travel")
    memory.store(42, "two", {"from": "Kisumu"}, service="travel")
    memory.store(42, "two", {"subject": "Lunch"}, service="email")
    memory.store(7, "one", {"from": "Bergen"}, service="travel")
    memory.share(42, ["travel.from", "email.subject"])
    assert memory.merge(42, "three", {}, service="travel") == {"from": "Kisumu"}, "the newest one"
    assert memory.merge(42, "three", {}, service="email") == {"subject": "Lunch"}
    assert memory.merge(7, "three", {}, service="travel") == {}


def test_share_restores_no_forgotten_value(memory):
    memory.store(42, "one", {"from": "Nairobi"}, service="travel")
    memory.share(42, ["travel.from"])
    memory.forget(42, "one", "from")
    memory.share(42, ["travel.to"])
    assert memory.merge(42, "two", {}, service="travel") == {}
    memory.forget_all(42)
    memory.share(42, ["travel.from"])
    assert memory.merge(42, "two", {}, service="travel") == {}


def test_forgetting_a_value_covers_other_rooms(memory):
    memory.share(42, ["travel.from"])
    memory.store(42, "one", {"from": "Nairobi"}, service="travel")
    memory.forget(42, "one", "from")
    assert memory.merge(42, "two", {}, service="travel") == {}


def test_forgetting_a_room_covers_other_rooms(memory):
    memory.share(42, ["travel.from"])
    memory.store(42, "one", {"from": "Nairobi"}, service="travel")
    memory.forget_all(42, "one")
    assert memory.merge(42, "two", {}, service="travel") == {}
    assert memory.shared(42) == ("travel.from",), "the consent stays"


def test_parameter_is_forgotten_in_its_own_service(memory):
    memory.store(*HERE, {"to": ["ann@example.com"], "subject": "Lunch"}, service="email")
    memory.store(*HERE, PAYMENT, service="payment")
    memory.store(*HERE, {"from": "Nairobi", "to": "London"}, service="travel")
    assert memory.forget(*HERE, "recipient", "to")
    services = memory.export(*HERE, by=42)["context"]["services"]
    assert sorted(services["payment"]["parameters"]) == ["amount"]
    assert sorted(services["travel"]["parameters"]) == ["from"]
    assert sorted(services["email"]["parameters"]) == ["subject", "to"], "the current service comes first"
    assert services["travel"]["forgotten"] == ["to"]


def test_number_of_shared_parameters_is_capped(memory):
    with pytest.raises(InvalidInput, match="share: must be at most 100 parameters"):
        memory.share(42, [f"travel.p{number}" for number in range(101)])
    assert memory.shared(42) == ()


def test_payment_is_never_shared(memory):
    with pytest.raises(
        InvalidInput, match="share: must be a parameter of a service that allows sharing: payment"
    ):
        memory.share(42, ["travel.from", "payment.recipient"])
    assert memory.shared(42) == ()


def test_outage_is_an_error_for_people_not_for_turns(caplog):
    memory = DialogMemory("redis://:hush-hush@127.0.0.1:1/0")
    assert memory.get(*HERE) == {}
    view = memory.recall(*HERE, {"to": "Paris"}, service="travel", defaults={"from": "Kisumu"})
    assert (view.parameters, view.degraded) == ({"from": "Kisumu", "to": "Paris"}, True)
    view = memory.recall(*HERE, {"to": "Paris", "from": ""}, defaults={"from": "Kisumu", "cabin_class": None})
    assert (view.parameters, view.degraded) == ({"from": "Kisumu", "to": "Paris"}, True)
    assert not memory.store(*HERE, PAYMENT, service="payment")
    assert not memory.store(*HERE, PAYMENT)
    for call in (
        lambda: memory.show(*HERE),
        lambda: memory.export(*HERE, by=42),
        lambda: memory.forget(*HERE, "to"),
        lambda: memory.forget_all(42),
        lambda: memory.share(42, ["travel.to"]),
        lambda: memory.unshare(42, ["travel.to"]),
        lambda: memory.rooms(42),
        memory.counts,
    ):
        with pytest.raises(RedisUnavailable) as told:
            call()
        assert "hush-hush" not in str(told.value)
    assert "hush-hush" not in caplog.text
    assert "+254712345678" not in caplog.text
