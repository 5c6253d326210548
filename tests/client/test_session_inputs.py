"""`submit` takes the path of a session file, and values for its inputs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from symposia.cli.sessions.render import details_json
from symposia.client import Client
from symposia.client.aio.client import AsyncClient
from symposia.models.errors import InvalidInput
from symposia.state.redis.connect import connect

TEXT = """\
inputs: [{name: topic}, {name: lines, type: integer, default: 3, choices: [3, 4]}]
title: About {topic}
purpose: Write {lines} lines.
mode: pair
participants: [{participant_id: ann, agent: echo}, {participant_id: bob, agent: echo}]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "talk.yaml"
    file.write_text(TEXT)
    return file


def is_empty(client: Client) -> bool:
    with connect(client.redis_url) as redis:
        return not [key for key in redis.scan_iter("*") if "{metrics}" not in key]


def test_submitted_file_has_its_values(client, path):
    job = client.submit(path, inputs={"topic": "doors"}, tenant="acme")
    assert (job.collab().title, job.collab().purpose) == ("About doors", "Write 3 lines.")
    assert (job.spec.inputs, job.spec.tenant) == ({"topic": "doors", "lines": 3}, "acme")
    assert details_json(job)["inputs"] == {"topic": "doors", "lines": 3}
    job.cancel()
    assert job.continue_with("Again.").spec.inputs == job.spec.inputs


def test_async_client_submits_a_file(client, path):
    async def submit() -> None:
        async with AsyncClient(client.settings) as twin:
            job = await twin.submit(path, inputs={"topic": "doors"})
            assert (await job.collab()).title == "About doors"
            await job.cancel()

    asyncio.run(submit())


def test_many_sessions_of_one_file(client, path):
    topics = ["doors", "{lines}"]
    jobs = client.submit_many([{"collab": path, "inputs": {"topic": it}} for it in topics])
    assert [job.collab().title for job in jobs] == ["About doors", "About {lines}"]
    for job in jobs:
        job.cancel()


@pytest.mark.parametrize(
    ("inputs", "line"),
    [
        (None, "inputs.topic: is required, of type string (got nothing)"),
        ({"topic": "x", "lines": 5}, "inputs.lines: must be one of 3, 4 (got 5)"),
        (
            {"topic": "x", "tone": "x"},
            "inputs.tone: must be an input of the session file (known: topic, lines)",
        ),
    ],
)
def test_bad_values_are_refused_and_nothing_is_written(client, path, inputs, line):
    with pytest.raises(InvalidInput) as refused:
        client.submit(path, inputs=inputs)
    assert str(refused.value).startswith(f"{path}:1: {line}")
    good = {"collab": path, "inputs": {"topic": "x"}}
    with pytest.raises(InvalidInput) as refused:
        client.submit_many([good, {"collab": path, "inputs": inputs}])
    assert str(refused.value).startswith(f"sessions[1]: {path}:1: {line}")
    assert is_empty(client)


def test_inputs_need_a_session_file(client):
    pair = {"title": "{a}", "purpose": "p", "mode": "pair", "participants": [{"participant_id": "a"}]}
    job = client.submit({**pair, "mode": "round_robin"}, agents={"a": "echo"})
    job.cancel()
    for how in ({"collab": pair}, {"continues": job.id}):
        with pytest.raises(
            InvalidInput, match=r"^inputs: must be set together with the Path of a session file"
        ):
            client.submit(**how, inputs={"a": "x"})


def test_text_is_not_taken_for_a_path(client, path):
    with pytest.raises(InvalidInput, match=r"^collab: must be a Collab, a table of its fields, or the Path"):
        client.submit(str(path))
