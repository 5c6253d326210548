"""What programs do with results, jobs and shorthands, on a real embedded server."""

from __future__ import annotations

import asyncio
import sys
import warnings

import pytest

import symposia
from symposia import (
    AsyncClient,
    Client,
    Collab,
    InvalidInput,
    LocalClient,
    ResultTimeout,
    SessionFailed,
    Usage,
    run_local_sync,
)
from symposia.errors import MissingPackage

ROOM = {"title": "Doors", "purpose": "choose a door", "mode": "round_robin"}
STOP = {"max_turns": 2}


def ada(turn):
    return symposia.TurnOutcome.say(
        f"turn {turn.turn_number}", usage=Usage(input_tokens=3, cost_micros=1_500)
    )


def fails(_turn):
    raise RuntimeError("no door")


@pytest.fixture(scope="module")
def client():
    with LocalClient({"ada": ada, "ben": ada, "fails": fails}) as client:
        yield client


@pytest.fixture(scope="module")
def result(client):
    return client.submit({**ROOM, "participants": ["ada", "ben"]}, stop=STOP).result()


def test_result_prints_in_one_line(result):
    assert str(result) == "completed (max_turns), 2 turns, 6 tokens, $0.0030: turn 2"
    assert "turn 1" not in repr(result)
    assert (result.usage.cost_usd, len(repr(result)) < 150) == (0.003, True)


def test_results_are_rows(client, result):
    rows = result.to_rows()
    assert [(it["turn"], it["speaker"], it["content"]) for it in rows] == [
        (1, "ada", "turn 1"),
        (2, "ben", "turn 2"),
    ]
    assert rows == result.dialog.to_rows()
    (spent, _) = client.get_job(result.collab.collab_id).usage().to_rows()
    assert (spent["participant"], spent["tokens"], spent["cost_usd"]) == ("ada", 3, 0.0015)


def test_frame_without_pandas_names_the_package(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackage, match="to_frame needs the package pandas: pip install pandas"):
        result.to_frame()


def test_frame_has_the_rows(result):
    assert list(result.to_frame()["speaker"]) == ["ada", "ben"]


def test_notebooks_show_dialogs_usage_and_jobs(client, result):
    job = client.get_job(result.collab.collab_id)
    for shown in (result, result.dialog, job):
        assert "turn 2" in shown._repr_html_()
    assert "0.0015" in job.usage()._repr_html_()
    assert "completed, 2 turns" in job._repr_html_()


def test_failure_raises_on_demand(client):
    job = client.submit({**ROOM, "participants": ["fails"]}, policy={"attempts": 1})
    with pytest.raises(
        SessionFailed,
        match=r"was not completed: failed \(fails: RuntimeError: no door \(.*test_results.py:\d+\)",
    ):
        job.result(raise_on_failure=True)
    failed = job.result()
    with pytest.raises(SessionFailed):
        failed.raise_for_failure()


def test_completed_session_does_not_raise(client, result):
    assert result.raise_for_failure() is result
    assert client.get_job(result.collab.collab_id).result(raise_on_failure=True).ok


@pytest.mark.parametrize(
    ("session", "agents"),
    [
        ({**ROOM, "participants": ["ada", "ben"]}, None),
        ({**ROOM, "participants": ["ada", {"participant_id": "ben"}]}, None),
        (ROOM, {"ada": "ada", "ben": {"agent": "ben"}}),
        (Collab(**ROOM, participants=["ada", "ben"]), None),
    ],
)
def test_participants_are_taken_as_meant(client, session, agents):
    collab = client.submit(session, agents=agents, stop=STOP).collab()
    assert [(it.participant_id, it.kind.value) for it in collab.participants] == [
        ("ada", "agent"),
        ("ben", "agent"),
    ]


def test_participant_with_the_agent_human_is_a_person(client):
    job = client.submit(ROOM, agents={"ada": "ada", "pat": "human"}, stop=STOP)
    assert job.collab().participants[1].kind.value == "human"
    job.cancel()


def test_session_file_takes_the_same_shorthands(client, tmp_path):
    file = tmp_path / "swarm.yaml"
    file.write_text(
        "title: Doors\npurpose: Paint them.\nmode: swarm\nagents: {ada: ada, ben: ben}\nitems: [one, two]\n"
    )
    assert [it.text for it in client.submit(file).result().items] == ["one", "two"]


def test_function_as_agent_of_submit_says_what_to_do(client):
    for agent in (ada, {"agent": ada}):
        with pytest.raises(
            InvalidInput, match=r"agents.ada: must be the name .*@symposia.agent.*LocalClient"
        ):
            client.submit(ROOM, agents={"ada": agent})


def test_jobs_come_in_the_order_of_their_ends(client, capfd):
    quick = client.submit({**ROOM, "participants": ["ada"]}, stop={"max_turns": 1})
    slow = client.submit(
        {**ROOM, "participants": ["ada", {"participant_id": "pat", "kind": "human"}]}, stop=STOP
    )
    slow.wait_for_question()
    ended = symposia.as_completed([slow, quick], progress=True)
    assert next(ended).id == quick.id
    slow.reply("pat", "A door.")
    assert [job.id for job in ended] == [slow.id]
    assert capfd.readouterr().err.endswith("[##############################] 2/2\n")


def test_jobs_that_do_not_end_in_time_are_reported(client):
    slow = client.submit({**ROOM, "participants": [{"participant_id": "pat", "kind": "human"}]})
    with pytest.raises(ResultTimeout):
        list(client.as_completed([slow], timeout=0.1))
    slow.cancel()
    assert not list(client.as_completed([]))


def test_asyncio_iterates_over_jobs_as_they_end(client):
    async def end():
        async with AsyncClient(redis_url=client.redis_url) as other:
            jobs = [await other.get_job(job.id) for job in submitted]
            return [(await job.result(raise_on_failure=True)).ok async for job in other.as_completed(jobs)]

    submitted = client.submit_many([{"collab": {**ROOM, "participants": ["ada"]}, "stop": STOP}] * 3)
    assert asyncio.run(end()) == [True] * 3


def test_waiting_in_an_event_loop_warns(client, result):
    async def wait():
        client.get_job(result.collab.collab_id).result()

    with pytest.warns(RuntimeWarning, match="AsyncClient"):
        asyncio.run(wait())
    with warnings.catch_warnings(action="error"):
        client.get_job(result.collab.collab_id).result()


def test_client_of_a_redis_url(client, result):
    with Client(redis_url=client.redis_url) as other:
        assert other.get_job(result.collab.collab_id).result().turns == 2
        with pytest.raises(InvalidInput, match="must not be set together"):
            Client(other.settings, redis_url=client.redis_url)


def test_run_local_prints_shortly():
    assert str(run_local_sync(ROOM, agents={"ada": lambda _: "A door."}, stop={"max_turns": 1})) == (
        "completed (max_turns), 1 turn, 0 tokens: A door."
    )
