"""`symposia memory recall` and `forget` of a scope, `prune`, and the check in `symposia doctor`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from symposia.client import Client
from symposia.client.building import memory
from symposia.config.settings import load_settings
from symposia.memory.turn_recollections import PendingNotes, TurnNotes
from symposia.models.memory.recollections import Scope
from symposia.state.redis.connect import connect

STORE = """
class Store:
    def recall(self, query, *, scope, limit):
        {answer}

    def remember(self, texts, *, scope, source):
        pass

    def forget(self, scope):
        return -1

store = Store()
"""


@pytest.fixture
def client(terminal) -> Iterator[Client]:
    terminal.settings["archive"] = "true"
    with Client(load_settings(**terminal.settings)) as client:
        yield client


def test_recall_lists_texts(terminal, client):
    assert terminal.call("memory", "recall", "user:42").out == "No texts stored for user:42.\n"
    client.recollections.remember("user:42", ["Likes tea.", "Sits by the window\x1b[31m."])
    client.recollections.remember("user:42", ["Of a tenant."], tenant="acme")
    lines = terminal.call("memory", "recall", "user:42", "tea").out.splitlines()
    assert lines[0].split() == ["stored", "text"]
    assert [line.split(maxsplit=1)[1].rstrip() for line in lines[1:]] == [
        "Likes tea.",
        "Sits by the window.",
    ]
    data = terminal.call("memory", "recall", "user:42", "--tenant", "acme", "--json").json()
    assert [it["text"] for it in data["texts"]] == ["Of a tenant."]
    assert len(terminal.call("memory", "recall", "user:42", "--limit", "1").out.splitlines()) == 2


def test_forget_deletes_a_scope(terminal, client):
    for tenant in (None, "acme"):
        client.recollections.remember("user:42", ["one", "two"], tenant=tenant)
    client.recollections.remember("room:42", ["three"])
    forget = ("memory", "forget", "user:42", "--all")
    assert terminal.call(*forget).out == "Deleted 2 texts of user:42.\n"
    assert terminal.call(*forget).out == "Nothing to delete.\n"
    assert terminal.call(*forget, "--tenant", "acme", "--json").json()["texts"] == 2
    assert terminal.call("memory", "forget", "room:42", "--all").out == "Deleted 1 text of room:42.\n"


def test_forgetting_a_user_includes_every_tenant(terminal, client):
    client.memory.store(42, "lobby", {"to": "Oslo"}, service="travel")
    for tenant in (None, "acme"):
        client.recollections.remember("user:42", ["one"], tenant=tenant)
    said = terminal.call("memory", "forget", "42", "--all")
    assert said.out == "Deleted: everything in lobby, 2 texts of the long-term memory.\n"
    assert terminal.call("memory", "forget", "42", "--all").out == "Nothing to delete.\n"


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (("forget", "user:42"), "requires either names of parameters or --all"),
        (("forget", "user:42", "lobby", "--all"), "requires --all, and no room"),
        (("forget", "42", "--all", "--tenant", "acme"), "must be used with user:ID or room:ID"),
        (("recall", "42"), "must be user:ID, room:ID or tenant:NAME"),
        (("recall", "user:42", "--limit", "0"), "must be from 1 to 1000"),
    ],
)
def test_bad_call_is_refused(terminal, client, arguments, rule):
    said = terminal.call("memory", *arguments)
    assert (said.code, rule in said.err) == (2, True)


def test_recall_without_a_store_says_what_to_set(terminal):
    terminal.settings["archive"] = "false"
    said = terminal.call("memory", "recall", "user:42")
    assert "recall_store: must be set where no archive is configured" in said.err
    assert terminal.call("memory", "forget", "42", "--all").out == "Nothing to delete.\n"


def test_prune_deletes_texts(terminal, client):
    client.recollections.remember("user:42", ["one"])
    client.recollections.remember("user:43", ["two"])
    dry = terminal.call("prune", "--user", "42", "--dry-run").out
    assert dry.startswith("Would delete 0 sessions with 0 messages and 1 text of the long-term memory.")
    assert terminal.call("prune", "--user", "42", "--json").json()["texts"] == 1
    assert client.recollections.recall("user:42") == []
    assert len(client.recollections.recall("user:43")) == 1


@pytest.mark.parametrize(
    ("content", "grade", "text"),
    [
        (STORE.format(answer="return []"), "ok", "in my_store:store"),
        (
            STORE.format(answer="raise OSError('no route')"),
            "warning",
            "my_store:store does not answer: OSError: no route",
        ),
        ("store = 1", "warning", "recall_store: must have the method recall"),
        ("", "warning", "has no attribute 'store'"),
    ],
    ids=["works", "down", "no store", "no object"],
)
def test_doctor_asks_the_store(terminal, monkeypatch, content, grade, text):
    (terminal.folder / "my_store.py").write_text(content)
    terminal.settings["recall_store"] = "my_store:store"
    monkeypatch.delitem(sys.modules, "my_store", raising=False)
    memory._load_store.cache_clear()
    (finding,) = findings(terminal)
    assert (finding["grade"], text in finding["text"]) == (grade, True), finding


def findings(terminal) -> list[dict[str, str]]:
    told = terminal.call("doctor", "--json").json()["findings"]
    return [it for it in told if it["subject"] == "long-term memory"]


def test_doctor_reports_waiting_notes(terminal, client, redis_url):
    assert findings(terminal) == []
    with connect(redis_url) as redis:
        notes = TurnNotes(
            session_id="s", opened_ms=1, number=1, scope=Scope.of("user", 42), at_ms=1, texts=("x",)
        )
        assert PendingNotes(redis).claim(notes)
    (finding,) = findings(terminal)
    assert finding["text"] == "notes of 1 turn wait for the store"
