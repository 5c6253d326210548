"""`symposia memory`, the settings of dialog memory, and its checks in `symposia doctor`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from redis import Redis

from symposia.client.building.memory import dialog_memory, memory_rules, memory_url
from symposia.config.settings import load_settings
from symposia.config.sources import ALTERNATIVE_NAMES
from symposia.memory.rooms import DialogMemory
from symposia.state.redis.connect import connect

HERE = (42, "room_123")


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def memory(client: Redis) -> DialogMemory:
    return DialogMemory(client)


@pytest.fixture
def spoken(memory):
    memory.store(*HERE, {"amount": 5000, "recipient": "+254712345678"}, service="payment", updated_by="payer")
    memory.store(*HERE, {"from": "Nairobi", "to": "London"}, service="travel", updated_by="parser")
    return memory


def test_show_hides_private_values(terminal, spoken):
    said = terminal.call("memory", "show", "42", "room_123")
    assert (said.code, said.err) == (0, "")
    lines = [line.split() for line in said.out.splitlines()]
    assert lines[0] == ["service", "parameter", "value", "source", "confidence", "turn", "age"]
    assert ["payment", "recipient", "****5678", "said", "1.00"] in [line[:5] for line in lines]
    assert ["travel", "from", "Nairobi", "said", "1.00"] in [line[:5] for line in lines]
    assert "2 messages, last by parser; expires in 5h 59m without new messages." in said.out
    data = terminal.call("memory", "show", "42", "room_123", "--json").json()
    assert (data["service"], data["metadata"]["message_count"]) == ("travel", 2)
    assert "254712" not in said.out + str(data)


def test_memory_show_without_a_room_lists_the_rooms(terminal, spoken):
    spoken.store(42, "two", {"to": "Oslo"}, service="travel")
    assert terminal.call("memory", "show", "42").out == "room_123\ntwo\n"
    assert terminal.call("memory", "show", "42", "--json").json()["rooms"] == ["room_123", "two"]
    assert terminal.call("memory", "show", "7").out == "No data stored for user 7.\n"
    assert terminal.call("memory", "show", "7", "r").out == "No data stored for user 7 in room r.\n"


def test_room_names_are_escaped(terminal, client):
    state = {"timestamp": time.time(), "service": "travel", "parameters": {"to": "Oslo"}}
    client.set("dialog:42:red\x1b[31m", json.dumps(state), ex=60)
    assert terminal.call("memory", "show", "42").out == "red [31m\n"


def test_memory_export_is_complete(terminal, spoken):
    data = terminal.call("memory", "export", "42", "room_123").json()
    assert data["context"]["services"]["payment"]["parameters"]["recipient"]["value"] == "+254712345678"


def test_forget_takes_names_or_all(terminal, spoken):
    assert terminal.call("memory", "forget", "42", "room_123", "from").out == "Deleted: from in room_123.\n"
    assert spoken.get(*HERE)["parameters"] == {"to": "London"}
    assert "Deleted on request: travel.from" in terminal.call("memory", "show", "42", "room_123").out
    said = terminal.call("memory", "forget", "42", "room_123", "recipient", "--service", "payment", "--json")
    assert said.json() == {"user_id": "42", "rooms": ["room_123"], "parameters": ["recipient"], "all": False}
    assert (
        terminal.call("memory", "forget", "42", "room_123", "--all").out
        == "Deleted: everything in room_123.\n"
    )
    assert spoken.get(*HERE) == {}
    assert terminal.call("memory", "show", "42").out == "No data stored for user 42.\n"
    spoken.store(42, "two", {"to": "Oslo"}, service="travel")
    assert terminal.call("memory", "forget", "42", "--all", "--json").json()["rooms"] == ["two"]
    assert terminal.call("memory", "forget", "7", "--all").out == "Nothing to delete.\n"
    assert terminal.call("memory", "forget", "7", "r", "from").out == "Nothing to delete.\n"


def test_share_prints_and_changes_the_consent(terminal, memory):
    assert terminal.call("memory", "share", "42").out == "No shared parameters.\n"
    assert (
        terminal.call("memory", "share", "42", "travel.to", "travel.from").out == "travel.from, travel.to\n"
    )
    assert memory.shared(42) == ("travel.from", "travel.to")
    assert terminal.call("memory", "unshare", "42", "travel.to").out == "travel.from\n"
    assert terminal.call("memory", "share", "42", "email.subject").out == "email.subject, travel.from\n"
    assert terminal.call("memory", "share", "42", "--stop", "--json").json() == {
        "user_id": "42",
        "shared": [],
    }


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("forget", "42", "r"),
            "symposia: forget: requires either names of parameters or --all (got None)",
        ),
        (
            ("forget", "42", "r", "from", "--all"),
            "symposia: forget: requires either names of parameters",
        ),
        (
            ("forget", "42", "r", "--all", "--service", "travel"),
            "symposia: service: must not be used with --all, which deletes the parameters of all services (got 'travel')",
        ),
        (
            ("share", "42", "travel.to", "--stop"),
            "symposia: share: must not be used with --stop, which stops sharing all parameters",
        ),
        (
            ("forget", "42", "r", "from", "--service", "alchemy"),
            "symposia: service: must be one of travel, payment",
        ),
        (("show", "a:b", "r"), "symposia: user_id: must not contain `:`, `{` or `}` (got 'a:b')"),
        (
            ("share", "42", "payment.amount"),
            "symposia: share: must be a parameter of a service that allows sharing: payment does not",
        ),
        (
            ("export", "42", " "),
            "symposia: room_id: is required: memory needs a user and a room",
        ),
    ],
)
def test_bad_memory_input_is_one_line(terminal, arguments, line):
    said = terminal.call("memory", *arguments)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(line)
    assert said.err.count("\n") == 1


def test_memory_commands_fail_without_redis(terminal):
    terminal.settings["memory_redis_url"] = "redis://:hush-hush@127.0.0.1:1/0"
    for arguments in (("show", "42", "r"), ("export", "42", "r"), ("forget", "42", "--all"), ("share", "42")):
        said = terminal.call("memory", *arguments)
        assert (said.code, said.out) == (4, "")
        assert said.err.startswith("symposia: Redis at redis://:***@127.0.0.1:1/0 does not answer")


def test_doctor_reports_memory_rules_and_counts(terminal, memory, client):
    def found() -> dict[str, str]:
        findings = terminal.call("doctor", "--json").json()["findings"]
        return next(it for it in findings if it["subject"] == "memory")

    assert found()["text"] == "rooms expire after 21600 s, maximum size 10000 bytes"
    client.set("dialog:42:r", "{", ex=60)
    memory.get(42, "r")
    assert (found()["grade"], found()["text"]) == (
        "warning",
        "rooms expire after 21600 s, maximum size 10000 bytes; recent events: 1 corrupt",
    )
    terminal.settings["memory_redis_url"] = "redis://:hush-hush@127.0.0.1:1/0"
    assert (found()["grade"], found()["advice"]) == ("warning", "turns run without memory until it answers")
    assert "hush-hush" not in str(found())


def test_memory_settings_have_their_documented_names(monkeypatch):
    assert ALTERNATIVE_NAMES == {
        "redis_url": "REDIS_URL",
        "memory_ttl_s": "DIALOG_STATE_TTL_SECONDS",
        "memory_max_bytes": "DIALOG_STATE_MAX_SIZE_BYTES",
    }
    monkeypatch.setenv("REDIS_URL", "redis://db:6379/3")
    monkeypatch.setenv("DIALOG_STATE_TTL_SECONDS", "60")
    monkeypatch.setenv("DIALOG_STATE_MAX_SIZE_BYTES", "5000")
    settings = load_settings()
    assert memory_url(settings) == "redis://db:6379/3"
    assert (memory_rules(settings).ttl_s, memory_rules(settings).max_bytes) == (60, 5_000)
    monkeypatch.setenv("SYMPOSIA_MEMORY_TTL_S", "90")
    monkeypatch.setenv("SYMPOSIA_REDIS_URL", "redis://own:6379/0")
    monkeypatch.setenv("DIALOG_STATE_MAX_SIZE_BYTES", "")
    settings = load_settings(memory_redis_url="redis://apart:6379/0")
    assert settings.redis_url.get_secret_value() == "redis://own:6379/0"
    assert memory_url(settings) == "redis://apart:6379/0"
    assert (settings.memory_ttl_s, settings.memory_max_bytes) == (90, 10_000)


def test_documented_time_to_live_is_used(monkeypatch, redis_url):
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("DIALOG_STATE_TTL_SECONDS", "60")
    dialog_memory(load_settings()).store(*HERE, {"to": "London"}, service="travel")
    with connect(redis_url) as client:
        assert 0 < client.ttl("dialog:42:room_123") <= 60
