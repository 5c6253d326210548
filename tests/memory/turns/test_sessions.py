"""The document's examples as sessions on a worker, and what else holds for memory in turns.

Source: dialog state document, sections 4 ("Usage Examples") and 9 ("Integration Tests").
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from live import result_of, until
from scaling import patient
from symposia.models.errors import InvalidInput
from symposia.state.redis.connect import connect

FIRST = "from: Nairobi, to: London, departure_date: 2026-02-10"
SEARCHES = "last_searches: [{'results': 12, 'price_range': '180k-320k'}]"


def test_travel_booking_takes_three_turns(room):
    said = room.said(room.submit("parser", "connector", turns=6, user_id=42, room_id="room_123"))
    searches = [it.removeprefix("searched with ") for it in said if it.startswith("searched with ")]
    assert searches == [
        FIRST,
        f"{FIRST}, {SEARCHES}, return_date: 2026-02-20",
        f"{FIRST}, {SEARCHES}, return_date: 2026-02-20, round_trip: True, cabin_class: business",
    ]
    stored = room.client.memory.get(42, "room_123")
    assert stored["service"] == "travel"
    assert stored["parameters"] == {
        "from": "Nairobi",
        "to": "London",
        "departure_date": "2026-02-10",
        "last_searches": [{"results": 12, "price_range": "180k-320k"}],
        "return_date": "2026-02-20",
        "round_trip": True,
        "cabin_class": "business",
    }
    assert stored["metadata"]["message_count"] == 6
    assert stored["metadata"]["last_updated_by"] == "connector"


def test_second_payment_reuses_the_recipient(room):
    said = room.said(room.submit("payer", "teller", turns=4, user_id=43, room_id="room_123"))
    assert said[1] == "amount: 5000, recipient: +254712345678 | ask: "
    assert said[3] == "recipient: +254712345678, amount: 3000 | ask: "


def test_expired_context_is_asked_for_again(room):
    def turn(**message):
        return room.said(
            room.submit("teller", turns=1, user_id=44, room_id="r", service="travel", said=message)
        )

    def hours_later(hours: float) -> None:
        with connect(room.settings["redis_url"]) as client:
            state = json.loads(client.get("dialog:44:r"))
            client.set(
                "dialog:44:r",
                json.dumps({**state, "timestamp": state["timestamp"] - hours * 3_600}),
                keepttl=True,
            )

    first = {"from": "Nairobi", "to": "London", "departure_date": "2026-02-10"}
    assert turn(**first) == [f"{FIRST} | ask: "]
    hours_later(5.75)
    assert turn(cabin_class="business") == [f"{FIRST}, cabin_class: business | ask: "]
    hours_later(6.1)
    assert turn(return_date="2026-02-20") == ["return_date: 2026-02-20 | ask: from, to"]
    assert turn(**{"from": "Nairobi", "to": "London"}) == [
        "return_date: 2026-02-20, from: Nairobi, to: London | ask: "
    ]


def test_travel_booking_continues_over_sessions(room):
    """The integration test of the document: a second message needs no origin and no destination."""
    first = {"from": "Nairobi", "to": "London", "departure_date": "2026-02-10"}
    room.said(room.submit("viewer", turns=1, user_id=45, room_id="r", service="travel", said=first))
    job = room.submit("viewer", turns=1, user_id=45, room_id="r", said={"return_date": "2026-02-20"})
    (view,) = (json.loads(it) for it in room.said(job))
    assert view["parameters"] == {**first, "return_date": "2026-02-20"}
    assert {name: it["source"] for name, it in view["known"].items()} == {
        "from": "carried",
        "to": "carried",
        "departure_date": "carried",
        "return_date": "said",
    }
    assert view["service"] == "travel"
    assert view["degraded"] is False


def test_values_without_a_service_reach_the_agent(room):
    how = {"said": {"to": "London", "from": ""}, "defaults": {"to": "Oslo", "from": "Nairobi"}}
    for owner in ({"user_id": 61, "room_id": "r"}, {}):
        (view,) = (json.loads(it) for it in room.said(room.submit("viewer", turns=1, **owner, **how)))
        assert view["parameters"] == {"to": "London", "from": "Nairobi"}
        assert {name: it["source"] for name, it in view["known"].items()} == {"to": "said", "from": "default"}
        assert (view["service"], view["unclear"], view["degraded"]) == (None, ["travel", "email"], False)
        assert view["ask"] == ["service"]
    assert room.client.memory.rooms(61) == [], "nothing is remembered without a service"


def test_values_merge_once_a_turn_names_the_service(room):
    job = room.submit("parser", "viewer", turns=2, user_id=62, room_id="r", said={"cabin_class": "first"})
    seen = json.loads(room.said(job)[1])["parameters"]
    assert (seen["from"], seen["cabin_class"]) == ("Nairobi", "first")
    assert room.client.memory.get(62, "r")["parameters"]["cabin_class"] == "first"


def test_session_without_a_user_stores_nothing(room):
    job = room.submit(
        "viewer", turns=1, service="travel", said={"to": "London"}, defaults={"passenger_count": 1}
    )
    (view,) = (json.loads(it) for it in room.said(job))
    assert view["parameters"] == {"passenger_count": 1, "to": "London"}
    assert view["ask"] == ["from"]
    with connect(room.settings["redis_url"]) as client:
        assert not list(client.scan_iter(f"*{job.id}*dialog:*"))
        assert not list(client.scan_iter("dialog:*None*"))


def test_empty_room_id_stores_nothing(room):
    room.said(room.submit("teller", turns=1, user_id=46, room_id="", service="travel", said={"to": "London"}))
    assert room.client.memory.rooms(46) == []


def test_session_without_memory_shows_none(room):
    assert room.said(room.submit("viewer", turns=1)) == ["nothing"]


def test_room_defaults_to_the_conversation(room):
    job = room.submit("parser", turns=1, user_id=47)
    room.said(job)
    assert room.client.memory.rooms(47) == [job.id]
    thread = "7d3c0f37-7c53-4e4e-8a8c-39bd1d9c0f11"
    room.said(room.submit("parser", turns=1, user_id=48, thread_id=thread))
    assert room.said(room.submit("teller", turns=1, user_id=48, thread_id=thread)) == [f"{FIRST} | ask: "]


def test_a_failed_attempt_writes_nothing(room):
    policy = {"attempts": 2, "backoff_s": 0}
    room.said(room.submit("moody", turns=1, user_id=49, room_id="r", policy=policy))
    stored = room.client.memory.get(49, "r")
    assert stored["parameters"] == {"to": "attempt 2"}
    assert stored["metadata"]["message_count"] == 1
    job = room.submit(
        "moody",
        turns=1,
        user_id=50,
        room_id="r",
        policy={"attempts": 1, "then": "skip"},
        service="travel",
        said={"to": "London"},
    )
    result_of(job, timeout_s=50)
    assert room.client.memory.get(50, "r") == {}


def test_invalid_learned_value_is_dropped(room):
    said = room.said(room.submit("careless", turns=3, user_id=51, room_id="r"))
    assert said == ["done"] * 3
    memory = room.client.memory
    assert memory.get(51, "r")["parameters"] == {"to": "London"}
    counts = memory.counts()
    assert counts["invalid"] >= 2, "a wrong type, and an unknown service"
    assert counts["too_large"] >= 1


def test_earlier_turns_restore_no_forgotten_value(room):
    said = room.said(room.submit("parser", "forgetful", "teller", turns=3, user_id=52, room_id="r"))
    assert said[2] == "to: London, departure_date: 2026-02-10 | ask: from"
    message = {"service": "travel", "said": {"from": "Nairobi", "to": "London"}}
    again = room.said(room.submit("forgetful", "teller", turns=2, user_id=53, room_id="r", **message))
    assert again[1] == "to: London | ask: from"


def test_turn_without_a_message_may_still_learn(room):
    result_of(room.submit("silent", turns=1, user_id=54, room_id="r"), timeout_s=50)
    assert room.client.memory.get(54, "r")["parameters"] == {"query": "quiet places"}


def test_parallel_turns_keep_all_learned_values(room):
    names = [f"l{n}" for n in range(6)]
    job = room.submit(
        *names, turns=6, mode="broadcast", user_id=55, room_id="r", as_=dict.fromkeys(names, "learner")
    )
    result_of(job, timeout_s=50)
    parameters = room.client.memory.get(55, "r")["parameters"]
    assert sorted(parameters) == [f"p{n}" for n in range(1, 7)]


def test_other_rooms_are_read_only_with_consent(room):
    memory = room.client.memory
    memory.share(56, ["travel.from"])
    room.said(room.submit("parser", turns=1, user_id=56, room_id="one"))
    room.said(room.submit("parser", turns=1, user_id=57, room_id="one"))
    assert room.said(room.submit("teller", turns=1, user_id=56, room_id="two", service="travel")) == [
        "from: Nairobi | ask: to"
    ]
    assert room.said(room.submit("teller", turns=1, user_id=57, room_id="two", service="travel")) == [
        " | ask: from, to"
    ]


def test_export_has_only_messages_of_the_user(room):
    mine = room.submit("parser", "connector", turns=2, user_id=58, room_id="shared-room")
    theirs = room.submit("payer", turns=1, user_id=59, room_id="shared-room")
    room.said(mine)
    room.said(theirs)
    export = room.client.memory.export(58, "shared-room", by=58)
    assert [it["session_id"] for it in export["conversations"]] == [mine.id]
    assert export["conversations"][0]["messages"][0]["content"].startswith("Find me flights")
    assert export["context"]["services"]["travel"]["parameters"]["from"]["value"] == "Nairobi"
    assert "+254712345678" not in json.dumps(export)
    with pytest.raises(InvalidInput, match="by: must be the owner of this memory"):
        room.client.memory.export(58, "shared-room", by=59)


def test_log_has_documented_lines_only(room):
    room.said(room.submit("payer", "teller", turns=2, user_id=60, room_id="logged"))
    until(lambda: "Dialog state stored: user_id=60, room_id=logged, ttl=21600s" in room.worker.log())
    log = room.worker.log()
    assert "Dialog state retrieved: user_id=60, room_id=logged, cached_params={}" in log
    assert "cached_params={amount: 5000, recipient: ****5678}" in log
    assert not [line for line in log.splitlines() if "Dialog" in line and "+254712345678" in line]


@pytest.mark.parametrize(
    ("how", "line"),
    [
        (
            {"user_id": 1, "service": "alchemy"},
            "service: must be one of travel, payment, search, scheduling, email",
        ),
        ({"user_id": "a:b"}, r"user_id: must not contain `:`, `{` or `}` \(got 'a:b'\)"),
        ({"user_id": True}, "user_id: must be a number, or text"),
        ({"user_id": "x" * 201}, "user_id: must be a number, or text of at most 200 printable characters"),
        ({"user_id": "a\nb"}, "user_id: must be a number, or text"),
        (
            {"user_id": 1, "service": "travel", "said": {"passenger_count": "many"}},
            r"said.travel.passenger_count: must be a whole number \(got 'many'\)",
        ),
        ({"user_id": 1, "said": ["to"]}, "said: must be a"),
        (
            {"user_id": 1, "service": "travel", "defaults": {"cabin_class": "deck"}},
            "defaults.travel.cabin_class: must be one of",
        ),
    ],
)
def test_bad_memory_options_are_refused(room, how, line):
    with pytest.raises(InvalidInput, match=line):
        room.submit("teller", turns=1, **how)


def test_trip_example_prints_its_documented_output(room):
    example = Path(__file__).parents[3] / "examples" / "trip.py"
    environment = {f"SYMPOSIA_{name.upper()}": str(value) for name, value in room.settings.items()}
    said = subprocess.run(
        [sys.executable, example],
        env={**os.environ, **environment},
        cwd=room.folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=patient(50),
    )
    assert said.stdout.splitlines() == [
        "> Find me flights from Nairobi to London",
        "  Known: from: Nairobi, to: London. To ask: .",
        "> What about returning on February 20?",
        "  Known: from: Nairobi, to: London, return_date: 2026-02-20. To ask: .",
    ]
