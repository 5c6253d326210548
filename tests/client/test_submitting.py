"""Submitting: repeated submissions are one session, which is found by its id."""

from __future__ import annotations

import json
import re
import weakref

import pytest

from servers.lossy import lossy_wire
from symposia.client import Client
from symposia.config.celery import QUEUE
from symposia.config.settings import load_settings
from symposia.models.errors import AmbiguousId, InvalidInput, Locked, SessionConflict, SessionNotFound
from symposia.models.protocol.base import Governance, Meta
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.options import AgentBinding, FailurePolicy
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import SESSIONS


def a_collab(**changes):
    participants = [Participant(participant_id="ann"), Participant(participant_id="bob")]
    return Collab(**{"title": "t", "purpose": "p", "mode": "pair", "participants": participants, **changes})


def everything(client):
    redis = client._installation.sessions.workers._client
    return {key: redis.dump(key) for key in redis.scan_iter("symposia:{*}:*")}


def test_same_collab_is_the_same_session(client):
    collab = a_collab()
    first = client.submit(collab, stop=MaxTurns(2), messages=["hello"])
    before = everything(client)
    again = client.submit(collab, stop=MaxTurns(2), messages=["hello"])
    assert (again.id, again.spec) == (first.id, first.spec)
    assert everything(client) == before
    assert [job.id for job in client.jobs()] == [first.id]


@pytest.mark.parametrize(
    "changes",
    [
        {"meta": Meta(tags=["again"])},
        {"participants": [Participant(participant_id=name, role_id=name) for name in ("ann", "bob")]},
    ],
)
def test_irrelevant_changes_make_no_new_session(client, changes):
    collab = a_collab()
    client.submit(collab)
    assert client.submit(collab.changed(**changes)).id == collab.collab_id


def test_table_without_a_context_submits_once(client):
    table = {
        name: value
        for name, value in a_collab().to_wire().items()
        if name in ("collab_id", "title", "purpose", "mode", "participants")
    }
    assert client.submit(dict(table)).id == client.submit(dict(table)).id


def test_an_unknown_option_is_refused(client):
    with pytest.raises(TypeError, match="unexpected keyword argument 'stopp'"):
        client.submit(a_collab(), stopp=MaxTurns(1))


@pytest.mark.parametrize("parameters", [{"text": "x" * 2_000_000}, {"text": "\udcff"}])
def test_large_or_invalid_parameters_are_refused(client, parameters):
    with pytest.raises(InvalidInput, match="agents, options, policies and parameters: must be"):
        client.submit(a_collab(), parameters=parameters)
    assert everything(client) == {}


def test_a_locked_collab_is_refused(client):
    with pytest.raises(Locked):
        client.submit(a_collab().changed(governance=Governance(locked=True)))


def test_objects_and_plain_data_submit_the_same(client):
    collab = a_collab()
    job = client.submit(
        collab,
        agents={"ann": AgentBinding(agent="x", temperature=0.5)},
        stop=MaxRounds(2) | MaxTurns(9),
        policy=FailurePolicy(attempts=2),
    )
    again = client.submit(
        collab.to_wire(),
        agents={"ann": {"agent": "x", "temperature": 0.5}},
        stop={"max_rounds": 2, "max_turns": 9},
        policy={"attempts": 2},
    )
    assert again.spec == job.spec


@pytest.mark.parametrize(
    "how",
    [{"stop": MaxTurns(3)}, {"agents": {"ann": "other"}}, {"messages": ["x"]}, {"parameters": {"a": 1}}],
)
def test_the_id_of_another_session_is_refused(client, how):
    collab = a_collab()
    client.submit(collab)
    before = everything(client)
    with pytest.raises(SessionConflict, match=f"session '{collab.collab_id}' already exists"):
        client.submit(collab, **how)
    assert everything(client) == before


def test_job_is_found_by_its_id_with_its_submission(client):
    job = client.submit(a_collab(), agents={"ann": "x"}, stop=MaxTurns(2), parameters={"depth": 3})
    found = client.get_job(job.id)
    assert (found.id, found.spec) == (job.id, job.spec)
    assert found.collab() == job.collab()
    assert found.dialog() == job.dialog()


@pytest.mark.parametrize(
    "session_id", ["0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d11", "0e8a4c5e", "}{}{}{}{}", "a b c d e"]
)
def test_unknown_id_is_not_found(client, session_id):
    with pytest.raises(SessionNotFound, match=re.escape(repr(session_id))):
        client.get_job(session_id)


@pytest.mark.parametrize("session_id", ["", "}{", "0e8a4c5"])
def test_short_prefix_is_refused(client, session_id):
    with pytest.raises(InvalidInput, match="id: must be a session id, or at least its first 8 characters"):
        client.get_job(session_id)


def test_job_is_found_by_the_start_of_its_id(client):
    job = client.submit(a_collab())
    for start in (job.id[:8], job.id[:20], f" {job.id[:9].upper()} "):
        assert client.get_job(start).id == job.id


def test_start_of_several_ids_is_ambiguous(client):
    ids = [f"0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d1{i}" for i in range(4)]
    for session_id in ids:
        client.submit(a_collab(collab_id=session_id))
    with pytest.raises(AmbiguousId) as caught:
        client.get_job("0e8a4c5e")
    assert sorted(caught.value.ids) == ids
    listed = ", ".join(caught.value.ids[:3])
    assert str(caught.value) == f"ambiguous: 4 sessions start with '0e8a4c5e' ({listed}, ...)"
    assert client.get_job(ids[2]).id == ids[2]


def test_sessions_are_listed_newest_first_in_pages(client):
    ids = [client.submit(a_collab()).id for _ in range(3)]
    listed = [job.id for job in client.jobs()]
    assert sorted(listed) == sorted(ids)
    assert [job.id for job in client.jobs(count=1, offset=1)] == listed[1:2]


def test_expired_sessions_leave_the_list(client):
    redis, ids = (
        client._installation.sessions.workers._client,
        [client.submit(a_collab()).id for _ in range(7)],
    )
    redis.zadd(SESSIONS, {session_id: at for at, session_id in enumerate(ids)})
    for gone in (ids[6], ids[5], ids[2]):
        redis.delete(*redis.scan_iter(f"symposia:{{{gone}}}:*"))
    assert [job.id for job in client.jobs(count=2, offset=1)] == [ids[3], ids[1]]
    assert [job.id for job in client.each_job()] == [ids[4], ids[3], ids[1], ids[0]]
    assert redis.zrange(SESSIONS, 0, -1) == [ids[0], ids[1], ids[3], ids[4]]


def test_first_turn_state_names_the_first_participant(client):
    state = client.submit(a_collab()).turn_state()
    assert (state.current_turn_holder, state.turn_order, state.turn_index) == ("ann", ("ann", "bob"), 0)
    assert state.turn_started_at.endswith("Z")


def test_agent_defaults_to_the_participant_name(client):
    job = client.submit(a_collab(), agents={"ann": {"agent": "x", "instructions": "Be brief."}})
    assert job.spec.agents["ann"] == AgentBinding(agent="x", instructions="Be brief.")
    assert job.spec.agents["bob"] == AgentBinding(agent="bob")


def test_session_starts_if_its_first_answer_is_lost(redis_url, tmp_path):
    """The repeated submission finds its own session and sends its first task."""
    with lossy_wire(redis_url) as wire, connect(redis_url) as redis:
        unlucky = Client(load_settings(redis_url=wire.url, broker_url=redis_url, data_dir=tmp_path))
        job = unlucky.submit(a_collab(), stop=MaxTurns(1))
        assert wire.lost, "the answer to `open` was lost"
        (task,) = redis.lrange(QUEUE, 0, -1)
    assert json.loads(task)["headers"]["id"] == job.id


def test_a_session_that_has_begun_is_not_started_again(client):
    collab = a_collab()
    client.submit(collab)
    redis = client._installation.sessions.workers._client
    redis.hset(f"symposia:{{{collab.collab_id}}}:session", "version", 1)
    redis.delete(QUEUE)
    client.submit(collab)
    assert redis.llen(QUEUE) == 0


READINGS = {
    "messages": lambda job: list(job.messages()),
    "events": lambda job: list(job.events()),
    "board": lambda job: job.board(),
    "graph": lambda job: job.graph(),
    "collab": lambda job: job.collab(),
    "dialog": lambda job: job.dialog(),
    "state": lambda job: job.state(),
    "turn_state": lambda job: job.turn_state(),
    "messages, followed": lambda job: list(job.messages(follow=True)),
    "result": lambda job: job.result(timeout=1),
    "cancel": lambda job: job.cancel(),
    "suspend": lambda job: job.suspend(),
    "resume": lambda job: job.resume(),
    "stop": lambda job: job.stop(),
}


@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
def test_expired_session_is_always_not_found(client, reading):
    job = client.submit(a_collab(), messages=["hello"])
    redis = client._installation.sessions.workers._client
    redis.delete(*redis.scan_iter(f"symposia:{{{job.id}}}:*"))
    with pytest.raises(SessionNotFound):
        reading(job)


def test_session_without_messages_has_an_empty_board(client):
    job = client.submit(a_collab())
    assert (list(job.messages()), job.board()) == ([], ())


def test_dropped_client_closes_its_connections(redis_url, tmp_path):
    """No collector has to come by, which would find the sockets open."""
    client = Client(load_settings(redis_url=redis_url, broker_url=redis_url, data_dir=tmp_path))
    job = client.submit(a_collab(), agents={"ann": "echo", "bob": "echo"})
    job.cancel()
    redis = weakref.ref(client._installation.sessions.connections.redis)
    del client, job
    assert redis() is None
