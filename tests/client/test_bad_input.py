"""Bad input is refused in one line with field, value and rule, and nothing is written: by both ways in."""

from __future__ import annotations

import json
import socket
from itertools import repeat
from typing import Any

import pytest

from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.jobs.session_file import SessionFile
from symposia.models.errors import (
    InvalidInput,
    InvariantViolation,
    MessageTooLarge,
    RedisUnavailable,
    UnknownAgent,
)
from symposia.models.sessions.stop_conditions import AllOf, MaxTurns
from symposia.state.redis.connect import connect


def people(*names: str) -> list[dict[str, str]]:
    return [{"participant_id": name} for name in names]


def a_pair(**changes: Any) -> dict[str, Any]:
    return {"title": "t", "purpose": "p", "mode": "pair", "participants": people("ann", "bob"), **changes}


#: What is wrong, the collab, how it is run, and the line that says so.
BAD: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "unknown mode": (
        a_pair(mode="chaos"),
        {},
        "mode: must be 'broadcast', 'round_robin', 'orchestrated', 'swarm' or 'pair' (got 'chaos')",
    ),
    "duplicate participants": (
        a_pair(participants=people("ann", "ann")),
        {},
        "participants: must not contain a participant_id twice (got 'ann') [map_unique_participant_ids]",
    ),
    "no participants": (a_pair(participants=[]), {}, "participants: must have at least 1 item (got [])"),
    "no orchestrator": (
        a_pair(mode="orchestrated"),
        {},
        (
            "participants: must contain exactly one orchestrator: set its role_id to 'orchestrator', or name it"
            " (got nothing) [map_orchestrator_required]"
        ),
    ),
    "three in a pair": (
        a_pair(participants=people("ann", "bob", "cyd")),
        {},
        "participants: must have exactly 2 items in mode 'pair' (got 3) [map_pair_exactly_two]",
    ),
    "empty title": (a_pair(title=""), {}, "title: must have at least 1 character (got '')"),
    "invalid id": (a_pair(collab_id="zz"), {}, "collab_id: must be a UUID v4 (got 'zz')"),
    "invalid thread": (a_pair(), {"thread_id": "zz"}, "thread_id: must be a UUID v4 (got 'zz')"),
    "a message of 10 MB": (
        a_pair(),
        {"messages": ["hello", "x" * 10_000_000]},
        "messages[1].content: must be at most 1048576 bytes of UTF-8 (got 10000000)",
    ),
    "a long message in few characters": (
        a_pair(),
        {"messages": ["\N{SNOWMAN}" * 400_000]},
        "messages[0].content: must be at most 1048576 bytes of UTF-8 (got 1200000)",
    ),
    "a purpose of 2 MB": (
        a_pair(purpose="x" * 2_000_000),
        {},
        "purpose: must be at most 1048576 bytes of UTF-8 (got 2000000)",
    ),
    "a thousand and one participants": (
        a_pair(mode="round_robin", participants=people(*(f"p{i}" for i in range(1_001)))),
        {},
        "participants: must have at most 1000 items (got 1001)",
    ),
    "an id of 201 characters": (
        a_pair(participants=people("ann", "b" * 201)),
        {},
        f"participants[1].participant_id: must have at most 200 characters (got '{'b' * 76}...)",
    ),
    "ten thousand and one messages": (
        a_pair(),
        {"messages": ["hello"] * 10_001},
        "messages: must have at most 10000 items (got 10001)",
    ),
    "a blank message": (
        a_pair(),
        {"messages": ["hello", " \n"]},
        "messages[1].content: must not be blank (got ' \\n')",
    ),
    "a blank agent": (a_pair(), {"agents": {"ann": " "}}, "agents.ann.agent: must not be blank (got ' ')"),
    "a blank substitute": (
        a_pair(),
        {"policy": {"then": "substitute", "substitute": " "}},
        "policy.substitute: must not be blank (got ' ')",
    ),
    "an unknown role in a message": (
        a_pair(),
        {"messages": [{"role": "king", "content": "x"}]},
        "messages[0].role: must be 'user', 'assistant', 'system' or 'agent' (got 'king')",
    ),
    "an unknown field": (
        a_pair(mod="pair"),
        {},
        "mod: is not a known field, did you mean mode? (got 'pair')",
    ),
    "an agent of nobody": (
        a_pair(),
        {"agents": {"zed": "x"}},
        "agents: must be the id of a participant: ann, bob (got 'zed')",
    ),
    "an agent that is no name": (
        a_pair(),
        {"agents": {"ann": 5}},
        "agents.ann: must be a table of AgentBinding fields (got 5)",
    ),
    "an agent with code": (
        a_pair(),
        {"agents": {"ann": {"agent": "x", "callable": "os:system"}}},
        "agents.ann.callable: is not a known field (got 'os:system')",
    ),
    "an agent with a host": (
        a_pair(),
        {"agents": {"ann": {"agent": "x", "base_url": "http://elsewhere"}}},
        "agents.ann.base_url: is not a known field (got 'http://elsewhere')",
    ),
    "a temperature too high": (
        a_pair(),
        {"agents": {"ann": {"agent": "x", "temperature": 3}}},
        "agents.ann.temperature: must be less than or equal to 2 (got 3)",
    ),
    "a policy of nobody": (
        a_pair(),
        {"policies": {"zed": {}}},
        "policies: must be the id of a participant: ann, bob (got 'zed')",
    ),
    "no attempts": (
        a_pair(),
        {"policy": {"attempts": 0}},
        "policy.attempts: must be greater than or equal to 1 (got 0)",
    ),
    "no turns": (
        a_pair(),
        {"stop": {"max_turns": 0}},
        "stop.max_turns: must be greater than or equal to 1 (got 0)",
    ),
    "a text nobody can say": (
        a_pair(),
        {"stop": {"text": {"text": "DONE", "by": "zed"}}},
        "stop.text.by: must be the id of a participant: ann, bob (got 'zed')",
    ),
    "rounds of a swarm": (
        a_pair(mode="swarm"),
        {"stop": {"max_rounds": 2}},
        "stop.max_rounds: must not be set for a swarm, which has no rounds (got 2)",
    ),
    "more conditions than anybody reads": (
        a_pair(),
        {"stop": {"all": [{"max_turns": 1}] * 65}},
        "stop: must have at most 64 conditions (got '65 conditions')",
    ),
    "a quorum of too many": (
        a_pair(mode="broadcast"),
        {"options": {"quorum": 3}},
        "options.quorum: must be at most 2, the number of answering participants (got 3)",
    ),
    "an aggregator from elsewhere": (
        a_pair(mode="broadcast"),
        {"options": {"aggregator": "zed"}},
        "options.aggregator: must be the id of a participant (got 'zed')",
    ),
    "a system without an agent": (
        a_pair(participants=[*people("ann"), {"participant_id": "bob", "kind": "system"}]),
        {},
        "participants.bob.kind: must be bound to an agent: agents={'bob': 'NAME'} (got 'system')",
    ),
    "a wait without its text": (
        a_pair(),
        {"agents": {"ann": {"agent": "echo", "wait": {"then": "default"}}}},
        "agents.ann.wait: `then: default` and `default: TEXT` must be set together (got a mapping of 1)",
    ),
    "a session that is over": (
        a_pair(status="completed"),
        {},
        "status: must be `draft`: a session is submitted only once (got 'completed')",
    ),
}


def written(client: Client) -> list[str]:
    """The keys in Redis, without counts that a runtime of an earlier test writes late."""
    with connect(client.redis_url) as redis:
        return [key for key in redis.scan_iter("*") if "{metrics}" not in key]


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_and_nothing_is_written(client, what):
    collab, how, line = BAD[what]
    with pytest.raises(InvalidInput) as refused:
        client.submit(collab, **how)
    assert str(refused.value) == line
    assert isinstance(refused.value, ValueError)
    assert written(client) == []


@pytest.mark.parametrize("what", BAD)
def test_bad_session_file_is_refused_with_its_name(client, tmp_path, what):
    collab, how, line = BAD[what]
    path = tmp_path / "session.json"
    path.write_text(json.dumps({**collab, **how}))
    file = SessionFile.open(str(path))
    with pytest.raises(InvalidInput) as refused, file.name_file_in_errors():
        client._installation.sessions.submit(file.submission())
    said = str(refused.value)
    assert said.startswith(str(path))
    assert said.endswith(f": {line}")
    assert "\n" not in said
    assert written(client) == []


def test_input_errors_have_their_own_classes(client):
    with pytest.raises(InvariantViolation) as pair:
        client.submit(a_pair(participants=people("ann")))
    assert pair.value.name == "map_pair_exactly_two"
    with pytest.raises(MessageTooLarge) as large:
        client.submit(a_pair(), messages=["x" * 2_000_000])
    assert (large.value.size_bytes, large.value.limit_bytes) == (2_000_000, 1_048_576)


def test_stop_condition_built_in_python_is_bounded(client):
    with pytest.raises(InvalidInput, match=r"^stop: must have at most 64 conditions"):
        client.submit(a_pair(), stop=AllOf((MaxTurns(1),) * 65))
    assert written(client) == []


def test_endless_messages_are_refused_early(client):
    with pytest.raises(InvalidInput, match="at most 10000 items"):
        client.submit(a_pair(), messages=repeat("hello"))
    assert written(client) == []


def test_total_size_of_messages_is_limited(client):
    with pytest.raises(MessageTooLarge, match="collab and messages: must be at most 67108864 bytes"):
        client.submit(a_pair(), messages=["x" * 1_000_000] * 68)
    assert written(client) == []


def test_message_size_limit_is_a_setting(redis_url, tmp_path):
    client = Client(load_settings(redis_url=redis_url, data_dir=tmp_path, max_message_bytes=1_024))
    with pytest.raises(MessageTooLarge, match="at most 1024 bytes"):
        client.submit(a_pair(), messages=["x" * 1_025])
    assert written(client) == []
    assert client.submit(a_pair(), messages=["x" * 1_024]).state().messages == 1


@pytest.mark.parametrize(
    ("how", "line"),
    [
        (
            {"agents": {"ann": "coder", "bob": "codr"}},
            "agents.bob: must be a registered agent, did you mean coder? (got 'codr')",
        ),
        ({"agents": {"ann": "coder"}}, "agents.bob: must be a registered agent: coder, tester (got 'bob')"),
        (
            {
                "agents": {"ann": "coder", "bob": "coder"},
                "policies": {"ann": {"then": "substitute", "substitute": "tster"}},
            },
            "policies.ann.substitute: must be a registered agent, did you mean tester? (got 'tster')",
        ),
    ],
)
def test_unknown_agent_is_refused_with_similar_names(client, how, line):
    client._installation.sessions.workers.announce("w1@here", ["coder", "tester"])
    with pytest.raises(UnknownAgent) as refused:
        client.submit(a_pair(), **how)
    assert str(refused.value) == line
    assert written(client) == ["symposia:workers"]


def test_agent_known_to_one_worker_is_accepted(client):
    client._installation.sessions.workers.announce("w1@here", ["coder", "tester"])
    client._installation.sessions.workers.announce("w2@here", ["coder"])
    assert client.submit(a_pair(), agents={"ann": "coder", "bob": "tester"})
    with pytest.raises(UnknownAgent, match=r"must be a registered agent: coder, tester \(got 'writer'\)"):
        client.submit(a_pair(), agents={"ann": "coder", "bob": "writer"})


def test_agent_of_a_worker_that_has_just_started_is_accepted(client):
    workers = client._installation.sessions.workers
    workers.announce("w1@here", ["coder", "tester"])
    assert client.submit(a_pair(), agents={"ann": "coder", "bob": "tester"})
    workers.announce("w2@here", ["writer"])
    assert client.submit(a_pair(), agents={"ann": "coder", "bob": "writer"})


def test_session_without_workers_is_queued(client):
    job = client.submit(a_pair(), agents={"ann": "anything", "bob": "at all"})
    assert job.status() == "active"
    assert job.state().closed == 0


@pytest.mark.parametrize("what", ["rounds of a swarm", "a quorum of too many", "a session that is over"])
def test_invalid_input_is_reported_without_redis(tmp_path, what):
    collab, how, line = BAD[what]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"redis://127.0.0.1:{taken.getsockname()[1]}/0"
        client = Client(load_settings(redis_url=url, data_dir=tmp_path))
        with pytest.raises(InvalidInput) as refused:
            client.submit(collab, **how)
        with pytest.raises(RedisUnavailable):
            client.submit(a_pair())
    assert str(refused.value) == line


def test_redis_outage_error_hides_the_password(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"redis://:hunter2@127.0.0.1:{taken.getsockname()[1]}/0"
        with pytest.raises(RedisUnavailable) as refused:
            Client(load_settings(redis_url=url, data_dir=tmp_path)).submit(a_pair())
    said = str(refused.value)
    assert said.startswith(f"Redis at {url.replace('hunter2', '***')} does not answer: ")
    assert said.endswith("; start it, or pass the URL of a running server")
    assert "hunter2" not in said
    assert "\n" not in said
