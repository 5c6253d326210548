"""Submitting many: all are checked before the first is written, and each is submitted as `submit` does it."""

from __future__ import annotations

import asyncio
import json
import pickle

import pytest

from servers.lossy import lossy_wire
from symposia import AsyncClient
from symposia.client import Client
from symposia.config.celery import QUEUE
from symposia.config.settings import load_settings
from symposia.models.errors import (
    InvalidInput,
    Locked,
    PartlySubmitted,
    RedisUnavailable,
    SessionConflict,
)
from symposia.models.protocol.base import Governance
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import DUE, LIVE, SESSIONS
from symposia.tasks.sessions import opening_many
from symposia.tasks.sessions.opening import SessionOpener


def a_collab(**changes):
    participants = [Participant(participant_id="ann"), Participant(participant_id="bob")]
    return Collab(**{"title": "t", "purpose": "p", "mode": "pair", "participants": participants, **changes})


def some(count):
    return [{"collab": a_collab(), "stop": MaxTurns(2), "messages": [f"hello {i}"]} for i in range(count)]


def ids_of(tables):
    return [it["collab"].collab_id for it in tables]


def queued(redis):
    return [json.loads(it)["headers"]["id"] for it in reversed(redis.lrange(QUEUE, 0, -1))]


@pytest.fixture
def redis(redis_url):
    with connect(redis_url) as client:
        yield client


def snapshot(redis):
    keys = redis.scan_iter("symposia:{*}:*")
    return {key: redis.dump(key) for key in keys}


def test_all_are_submitted_in_order_and_once(client, redis, monkeypatch):
    monkeypatch.setattr(opening_many, "CHUNK", 3)
    tables = some(8)
    jobs = client.submit_many(iter(tables))
    assert [job.id for job in jobs] == ids_of(tables) == queued(redis)
    assert [[m.content for m in job.messages()] for job in jobs] == [[f"hello {i}"] for i in range(8)]
    assert {job.id for job in client.jobs()} == set(ids_of(tables))


def test_a_session_is_the_same_as_one_of_submit(client, redis):
    one, many = some(2)
    client.submit(one["collab"], stop=one["stop"], messages=one["messages"])
    client.submit_many([many])
    first, second = (redis.hgetall(f"symposia:{{{it}}}:session") for it in ids_of([one, many]))
    assert first.keys() == second.keys()
    assert [it["headers"]["task"] for it in map(json.loads, redis.lrange(QUEUE, 0, -1))] == [
        "symposia.advance"
    ] * 2
    for index in (DUE, SESSIONS, LIVE):
        assert set(ids_of([one, many])) <= set(redis.zrange(index, 0, -1)), index


def test_the_same_call_again_changes_nothing(client, redis):
    tables = some(4)
    client.submit_many(tables[:2])
    before = {key: it for key, it in snapshot(redis).items() if ids_of(tables)[0] in key}
    again = client.submit_many(tables)
    assert [job.id for job in again] == ids_of(tables)
    assert {key: redis.dump(key) for key in before} == before


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ({"collab": {"title": ""}}, r"^sessions\[2\]\.title: "),
        ({"collab": a_collab(), "stopp": 1}, r"^sessions\[2\]\.stopp: must be an argument of `submit`"),
        ({"title": "t"}, r"^sessions\[2\]: must be a Collab, or a table of arguments"),
        (
            {"collab": a_collab(participants=[Participant(participant_id="ann")])},
            r"^sessions\[2\]\.participants",
        ),
        ({"collab": a_collab(), "agents": {"eve": "x"}}, r"^sessions\[2\]\.agents: must be the id of a part"),
    ],
)
def test_bad_input_names_the_index_and_writes_nothing(client, redis, bad, text):
    with pytest.raises(InvalidInput, match=text):
        client.submit_many([*some(2), bad])
    assert (snapshot(redis), redis.llen(QUEUE)) == ({}, 0)


def test_errors_without_a_field_carry_the_index_as_a_note(client, redis):
    with pytest.raises(Locked) as error:
        client.submit_many([*some(1), a_collab().changed(governance=Governance(locked=True))])
    assert error.value.__notes__ == ["sessions[1]"]
    assert snapshot(redis) == {}


def test_a_conflict_is_found_before_anything_is_written(client, redis):
    taken, *others = some(3)
    client.submit(taken["collab"])
    before = snapshot(redis)
    with pytest.raises(SessionConflict) as error:
        client.submit_many([*others, taken])
    assert (error.value.session_id, error.value.__notes__) == (taken["collab"].collab_id, ["sessions[2]"])
    assert snapshot(redis) == before


def test_an_id_given_twice_is_refused(client, redis):
    one, two = some(2)
    with pytest.raises(InvalidInput, match=r"^sessions\[2\]\.collab_id: must be unique in one call"):
        client.submit_many([one, two, one])
    assert snapshot(redis) == {}


def test_an_interruption_lists_what_was_submitted(client, redis, monkeypatch):
    monkeypatch.setattr(opening_many, "CHUNK", 2)
    tables, write, calls = some(5), SessionOpener.write, []

    def fail_second(opener, chunk):
        calls.append(chunk)
        if len(calls) == 2:
            raise RedisUnavailable("redis://127.0.0.1:1/0", hint="refused")
        return write(opener, chunk)

    with monkeypatch.context() as patched:
        patched.setattr(SessionOpener, "write", fail_second)
        with pytest.raises(
            PartlySubmitted, match=r"^2 of 5 sessions were submitted, 2 may have been"
        ) as raised:
            client.submit_many(tables)
    error, ids = pickle.loads(pickle.dumps(raised.value)), ids_of(tables)  # noqa: S301
    assert (error.submitted, error.unknown, error.missing) == (
        tuple(ids[:2]),
        tuple(ids[2:4]),
        tuple(ids[4:]),
    )
    assert isinstance(raised.value.__cause__, RedisUnavailable)
    assert [job.id for job in client.submit_many(tables)] == ids


def test_lost_answers_submit_each_session_once(redis_url, redis, tmp_path):
    with lossy_wire(redis_url) as wire:
        unlucky = Client(load_settings(redis_url=wire.url, broker_url=redis_url, data_dir=tmp_path))
        tables = some(5)
        jobs = unlucky.submit_many(tables)
        assert wire.lost
        assert [job.id for job in jobs] == ids_of(tables) == queued(redis)
    assert all(redis.xlen(f"symposia:{{{it}}}:dialog") == 1 for it in ids_of(tables))


def test_forgotten_scripts_are_loaded_again(client, redis):
    client.submit_many(some(2))
    redis.script_flush()
    assert len(client.submit_many(some(3))) == 3


def test_nothing_is_submitted_by_an_empty_list(client, redis):
    assert client.submit_many([]) == []
    assert redis.llen(QUEUE) == 0


def test_no_list_is_refused(client):
    with pytest.raises(InvalidInput, match="sessions: must be a list"):
        client.submit_many({"collab": a_collab()})


def test_asyncio_submits_the_same(redis_url, tmp_path):
    settings = load_settings(redis_url=redis_url, broker_url=redis_url, data_dir=tmp_path)
    tables = some(3)

    async def submit():
        async with AsyncClient(settings) as client:
            return [job.id for job in await client.submit_many(tables)]

    assert asyncio.run(submit()) == ids_of(tables)
