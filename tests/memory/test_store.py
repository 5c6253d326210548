"""Memories on a real server: what is kept, for how long, and for whom.

The first three are the document's unit tests (section 9), in working form.
"""

from __future__ import annotations

import json
import logging
import time

import pytest
from redis import Redis

from symposia.memory.merge import Statement, WriteMetadata
from symposia.memory.monitoring import MemoryEvent
from symposia.memory.rooms import DialogMemory
from symposia.memory.values import MemoryRules, Owner
from symposia.models.errors import InvalidInput, ScriptError
from symposia.models.memory.state import RememberedValue
from symposia.state.redis.keys import sharing_key
from symposia.state.redis.scripts import evaluate, load_script

HERE = (42, "room_123")
TRIP = {"from": "Nairobi", "to": "London"}
KEY = "dialog:42:room_123"


def stored(client: Redis, key: str = KEY) -> dict:
    return json.loads(client.get(key))


def shifted(client: Redis, seconds: float, key: str = KEY) -> None:
    """As if the memory had been written so much earlier."""
    state = stored(client, key)
    client.set(key, json.dumps({**state, "timestamp": state["timestamp"] - seconds}), keepttl=True)


def test_dialog_state_storage(client, memory):
    """State is stored under the documented key with the documented time to live."""
    assert memory.store(
        *HERE, TRIP, service="travel", updated_by="travel_flights_connector", conversation_id="conv_456"
    )
    assert 21_500 < client.ttl(KEY) <= 21_600
    state = stored(client)
    assert (state["service"], state["parameters"]) == ("travel", TRIP)
    assert state["metadata"].keys() == {"last_updated_by", "message_count", "conversation_id", "updated_at"}
    assert state["metadata"]["last_updated_by"] == "travel_flights_connector"
    assert state["timestamp"] == pytest.approx(time.time(), abs=600)
    assert list(client.scan_iter("dialog*")) == [KEY]


def test_parameter_merge_new_overrides_cached(memory):
    """New parameters override remembered ones, and the others stay."""
    memory.store(*HERE, TRIP, service="travel")
    merged = memory.merge(*HERE, {"from": "Mombasa"})
    assert merged == {"from": "Mombasa", "to": "London"}
    assert memory.get(*HERE)["parameters"] == TRIP, "merging writes nothing"


def test_dialog_state_expiration(client, memory):
    """A state of more than six hours ago counts as empty, is removed and counted."""
    memory.store(*HERE, TRIP, service="travel")
    shifted(client, 6 * 3_600 - 60)
    assert memory.get(*HERE)["parameters"] == TRIP
    shifted(client, 61)
    assert memory.get(*HERE) == {}
    assert not client.exists(KEY)
    assert memory.counts() == {"expired": 1}


def test_merge_in_an_empty_room_gives_the_parameters(client, memory):
    """Without a service, too, as the document has it."""
    assert memory.merge(*HERE, TRIP) == TRIP
    assert memory.merge(*HERE, {"to": "Paris"}, defaults={"from": "Kisumu", "to": "Oslo"}) == {
        "from": "Kisumu",
        "to": "Paris",
    }
    assert memory.merge(None, None, TRIP) == TRIP
    view = memory.recall(*HERE, {"to": "Paris"}, defaults={"from": "Kisumu"})
    assert {name: it.source.value for name, it in view.known.items()} == {"to": "said", "from": "default"}
    assert not client.exists(KEY)


def test_merge_in_an_expired_room_gives_the_parameters(client, memory):
    memory.store(*HERE, TRIP, service="travel")
    shifted(client, 6 * 3_600 + 1)
    assert memory.merge(*HERE, {"return_date": "2026-02-20"}) == {"return_date": "2026-02-20"}


def test_only_writes_extend_the_time_to_live(client, memory):
    memory.store(*HERE, TRIP, service="travel")
    client.expire(KEY, 100)
    memory.get(*HERE)
    memory.merge(*HERE, {"to": "Paris"})
    memory.show(*HERE)
    memory.export(*HERE, by=42)
    assert client.ttl(KEY) <= 100
    assert not memory.store(*HERE, {"to": "", "from": None}, service="travel"), "nothing was said"
    assert client.ttl(KEY) <= 100
    memory.forget(*HERE, "to")
    assert client.ttl(KEY) <= 100, "forgetting keeps nothing longer"
    memory.store(*HERE, {"to": "Paris"})
    assert client.ttl(KEY) > 21_500


def test_operator_sets_the_time_to_live_and_the_cap(client):
    memory = DialogMemory(client, MemoryRules(ttl_s=60, max_bytes=2_048))
    memory.store(*HERE, {"query": "x" * 1_000}, service="search")
    assert client.ttl(KEY) <= 60
    memory.store(*HERE, {"filters": {"note": "y" * 1_000}})
    assert memory.get(*HERE)["parameters"].keys() == {"filters"}
    assert client.strlen(KEY) <= 2_048
    assert memory.counts() == {"evicted": 1}


def test_hash_tag_keeps_all_keys_of_a_user_in_one_slot(client):
    memory = DialogMemory(client, MemoryRules(hash_tag=True))
    memory.share(42, ["travel.from"])
    memory.store(*HERE, TRIP, service="travel")
    memory.store(42, "two", TRIP, service="travel")
    assert set(client.scan_iter("dialog*")) == {
        "dialog:{42}:room_123",
        "dialog:{42}:two",
        "dialog-shared:{42}",
    }
    assert memory.rooms(42) == ["room_123", "two"]


@pytest.mark.parametrize(("user", "room"), [(None, "r"), ("", "r"), ("  ", "r"), (42, None), (42, "")])
def test_nothing_is_stored_without_a_user_or_a_room(client, memory, user, room):
    assert not memory.store(user, room, TRIP, service="travel")
    assert memory.get(user, room) == {}
    assert memory.merge(user, room, {"to": "Paris"}, service="travel", defaults={"from": "Kisumu"}) == {
        "from": "Kisumu",
        "to": "Paris",
    }
    assert list(client.scan_iter("*")) == []


def test_users_never_see_values_of_others(client, memory):
    """Every method, for another user in the same room, and for the same user in another room."""
    memory.share(42, ["travel.from"])
    memory.store(*HERE, TRIP, service="travel")
    before = stored(client)
    for user, room in ((7, "room_123"), (420, "room_123"), ("4", "2:room_123"), (42, "other-room")):
        assert memory.get(user, room) == {}
        assert memory.show(user, room).lines == ()
        assert memory.export(user, room, by=user)["context"]["services"] == {}
        if user != 42:
            assert memory.merge(user, room, {}, service="travel") == {}
            assert memory.recall(user, room, {}, service="travel").known == {}
            assert memory.rooms(user) == []
            assert memory.shared(user) == ()
            memory.share(user, ["travel.to"])
            assert memory.forget_all(user) == []
        memory.forget(user, room, "from", service="travel")
        memory.store(user, room, {"to": "Oslo"}, service="travel")
        assert memory.forget_all(user, room) == [room]
        assert stored(client) == before
    for asker in (7, 420, "", None, "42 "):
        with pytest.raises(InvalidInput, match="by: must be the owner of this memory"):
            memory.export(*HERE, by=asker)
    assert memory.shared(42) == ("travel.from",)


@pytest.mark.parametrize(
    "user",
    ["a:b", "{42}", "x" * 201, "a\x00b", 4.2, True, ["42"], b"a", 10**5_000, -(10**200)],
    ids=lambda it: f"{type(it).__name__} {str(it)[:5]}" if it != 10**5_000 else "huge",
)
def test_unsafe_user_id_is_refused_by_every_method(memory, user):
    calls = [
        lambda: memory.get(user, "r"),
        lambda: memory.merge(user, "r", {}, service="travel"),
        lambda: memory.store(user, "r", TRIP, service="travel"),
        lambda: memory.show(user, "r"),
        lambda: memory.export(user, "r", by=user),
        lambda: memory.forget(user, "r", "to"),
        lambda: memory.forget_all(user),
        lambda: memory.rooms(user),
        lambda: memory.share(user, ["travel.to"]),
        lambda: memory.shared(user),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match="user_id: must "):
            call()


@pytest.mark.parametrize("user", ["*", "4?", "[4]2", "\\*"])
def test_pattern_as_user_id_finds_no_other_rooms(memory, user):
    memory.store(*HERE, TRIP, service="travel")
    assert memory.rooms(user) == []
    assert memory.forget_all(user) == []
    assert memory.get(*HERE)["parameters"] == TRIP


def test_an_unknown_service_is_refused(memory):
    for call in (memory.store, memory.merge, memory.recall):
        with pytest.raises(InvalidInput, match="service: must be one of travel, payment"):
            call(*HERE, TRIP, service="alchemy")
    with pytest.raises(InvalidInput, match="service: is required: the memory has no current service yet"):
        memory.store(*HERE, TRIP)


def test_a_value_of_the_wrong_type_stores_nothing(memory):
    with pytest.raises(InvalidInput, match=r"travel.passenger_count: must be a whole number \(got 'two'\)"):
        memory.store(*HERE, {"to": "London", "passenger_count": "two"}, service="travel")
    assert memory.get(*HERE) == {}


def test_parameter_over_the_cap_is_refused(client, memory):
    memory.store(*HERE, TRIP, service="travel")
    before = client.get(KEY)
    with pytest.raises(
        InvalidInput, match=r"^to: must fit, with all parameters, into a memory of 10000 bytes"
    ):
        memory.store(*HERE, {"from": "Rome", "to": "x" * 20_000})
    many = {f"p{number}": "x" * 1_000 for number in range(20)}
    with pytest.raises(InvalidInput, match="must fit, with all parameters, into a memory of 10000 bytes"):
        memory.store(*HERE, many, service="search")
    assert client.get(KEY) == before
    assert memory.counts() == {"too_large": 2}


def test_memory_never_exceeds_its_cap(client, memory):
    for number in range(200):
        memory.store(*HERE, {f"p{number}": "é" * 100}, service="search")
        assert len(client.get(KEY).encode()) <= 10_000
    names = list(memory.get(*HERE)["parameters"])
    assert names[-1] == "p199"
    assert names == [f"p{number}" for number in range(200 - len(names), 200)]


def test_services_of_one_room_are_independent(memory):
    memory.store(*HERE, TRIP, service="travel")
    memory.store(*HERE, {"amount": 5000}, service="payment")
    assert memory.get(*HERE)["parameters"] == {"amount": 5000}
    assert memory.merge(*HERE, {}, service="travel") == TRIP
    memory.store(*HERE, {"return_date": "2026-02-20"}, service="travel")
    assert memory.get(*HERE)["parameters"] == {**TRIP, "return_date": "2026-02-20"}
    assert memory.merge(*HERE, {}, service="payment") == {"amount": 5000}


def test_state_written_by_another_program_is_used(client, memory):
    document = {
        "timestamp": time.time(),
        "service": "travel",
        "parameters": TRIP,
        "metadata": {"message_count": 5},
    }
    client.set(KEY, json.dumps(document), ex=600)
    assert memory.merge(*HERE, {"return_date": "2026-02-20"}) == {**TRIP, "return_date": "2026-02-20"}
    memory.store(*HERE, {"to": "Paris"})
    assert memory.get(*HERE)["metadata"]["message_count"] == 6


@pytest.mark.parametrize("text", ["", "{", "[]", '{"timestamp": "x"}', '{"timestamp": NaN}', "\x00\x01"])
def test_corrupt_state_is_dropped_and_counted(client, memory, text, caplog):
    client.set(KEY, text, ex=600)
    assert memory.get(*HERE) == {}
    assert not client.exists(KEY)
    assert memory.counts() == {"corrupt": 1}
    assert "removing dialog memory 'dialog:42:room_123'" in caplog.text
    assert memory.store(*HERE, TRIP, service="travel")


def test_a_key_that_holds_no_text_is_corrupt_as_well(client, memory):
    client.rpush(KEY, "a", "b")
    client.rpush(sharing_key("42"), "a")
    assert memory.recall(*HERE, TRIP, service="travel").parameters == TRIP
    assert not client.exists(KEY)
    assert memory.counts() == {"corrupt": 2}


def test_state_repaired_meanwhile_is_not_dropped(client, memory, monkeypatch):
    def mended(*_: object) -> None:
        state = {"timestamp": time.time(), "service": "travel", "parameters": TRIP}
        client.set(KEY, json.dumps(state), ex=600)

    client.set(KEY, "{", ex=600)
    monkeypatch.setattr(memory.kept.counts, "count", mended)
    memory.get(*HERE)
    assert stored(client)["parameters"] == TRIP


def test_the_same_write_again_changes_nothing(client, memory):
    owner = Owner("42", "room_123")
    look = memory.kept.read(owner)
    statement = Statement("travel", look.now_ms, {"to": RememberedValue("London", look.now_ms)})
    writer = WriteMetadata(look.now_ms, mark="turn-1", by="ann")
    memory.kept.write(owner, [statement], writer, look=look)
    memory.store(*HERE, {"to": "Paris"})
    memory.kept.write(owner, [statement], writer, look=memory.kept.read(owner))
    memory.kept.write(owner, [statement], writer, look=look)
    assert memory.get(*HERE)["parameters"] == {"to": "Paris"}
    assert memory.get(*HERE)["metadata"]["message_count"] == 2


def test_an_answer_that_was_lost_is_given_again(client, memory):
    """The script is sent once more with what it was sent before: that is no other writer."""
    owner = Owner("42", "room_123")
    look = memory.kept.read(owner)
    statement = Statement("travel", look.now_ms, {"to": RememberedValue("London", look.now_ms)})
    memory.kept.write(owner, [statement], WriteMetadata(look.now_ms, mark="1"), look=look)
    text = client.get(KEY)
    assert evaluate(client, load_script("memory/swap"), [KEY], ["", text, 1_000]) == ["swapped"]
    assert evaluate(client, load_script("memory/swap"), [KEY], ["", "other", 1_000]) == ["changed", text]


def test_flushed_script_is_loaded_again(client, memory):
    client.script_flush()
    assert memory.store(*HERE, TRIP, service="travel")


def test_script_error_is_an_error_for_people_only(client, memory):
    memory.store(*HERE, TRIP, service="travel")
    client.config_set("maxmemory", "1")
    try:
        assert memory.merge(*HERE, {"to": "Paris"}) == {**TRIP, "to": "Paris"}
        assert not memory.store(*HERE, {"to": "Paris"})
        with pytest.raises(ScriptError, match="memory/swap"):
            memory.forget(*HERE, "to")
    finally:
        client.config_set("maxmemory", "0")
    assert memory.get(*HERE)["parameters"] == TRIP


def test_state_size_is_as_documented(client, memory):
    """One to five kilobytes a state (section 7)."""
    trip = {**TRIP, "departure_date": "2026-02-10", "passenger_count": 1, "cabin_class": "economy"}
    for user in range(100):
        memory.store(user, "room_abc", trip, service="travel", updated_by="travel_flights_connector")
    used = [client.memory_usage(f"dialog:{user}:room_abc") for user in range(100)]
    assert max(used) < 5_000


def test_outage_is_counted_after_recovery(client, memory):
    memory.kept.counts.count_locally(MemoryEvent.DEGRADED)
    memory.get(*HERE)
    assert DialogMemory(client).counts() == {"degraded": 1}


@pytest.mark.parametrize("user", ["ann.other@example.com", "+254712345678"])
def test_an_id_that_is_private_is_masked_in_the_log(client, memory, caplog, user):
    caplog.set_level(logging.DEBUG, "symposia.state.memory.rooms")
    memory.store(user, user, TRIP, service="travel")
    memory.get(user, user)
    client.set(f"dialog:{user}:{user}", "{", ex=60)
    memory.get(user, user)
    assert "removing dialog memory" in caplog.text
    assert "stored: user_id=****" in caplog.text
    assert user not in caplog.text


@pytest.mark.parametrize(
    "delete", [DialogMemory.forget_all, lambda memory, *owner: memory.forget(*owner, "to")]
)
def test_store_answers_false_for_what_a_deletion_removes(client, memory, monkeypatch, caplog, delete):
    memory.store(*HERE, {"from": "Nairobi"}, service="travel")
    read = memory.kept.read

    def read_before_a_deletion(owner: Owner):
        look = read(owner)
        monkeypatch.undo()
        delete(DialogMemory(client), *HERE)
        return look

    monkeypatch.setattr(memory.kept, "read", read_before_a_deletion)
    assert not memory.store(*HERE, {"to": "London"})
    assert "to" not in memory.get(*HERE).get("parameters", {})
    assert "to of service travel not stored" in caplog.text


def test_removed_values_are_named_in_the_log(client, caplog):
    memory = DialogMemory(client, MemoryRules(max_bytes=2_048))
    memory.share(42, ["search.query", "search.filters"])
    memory.store(*HERE, {"query": "x" * 1_000}, service="search")
    assert memory.store(*HERE, {"filters": {"note": "y" * 1_000}})
    lines = [line for line in caplog.messages if "is full" in line]
    assert len(lines) == 2, "one in the room, one in what is shared"
    assert all(line.endswith("is full, removing search.query") for line in lines)
    assert memory.counts()["evicted"] == 2
