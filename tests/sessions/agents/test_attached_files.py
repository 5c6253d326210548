"""Files in sessions of real workers, with each pool: read by functions and models, and not part of records."""

from __future__ import annotations

import asyncio
import base64

import pytest

from live import result_of
from scaling import patient
from servers.model_stub import completion
from stub_agents.files import PICTURE
from symposia.client.aio.client import AsyncClient
from symposia.config.settings import load_settings
from symposia.models.attachments import Attachment
from symposia.models.sessions.stop_conditions import MaxRounds
from symposia.state.sessions.archiving import RecordingStore

#: On a machine with much else to do.
pytestmark = pytest.mark.timeout(240)

MODELS = """
[models.vision]
model = "stub"
base_url = "{url}"
attachments = ["image/*"]

[agents.seer]
kind = "llm"
model = "vision"

[agents.draw]
kind = "python"
callable = "stub_agents.files:draw"

[agents.count_bytes]
kind = "python"
callable = "stub_agents.files:count_bytes"

[agents.count_bytes_async]
kind = "python"
callable = "stub_agents.files:count_bytes_async"
"""
AGENTS = {"ann": "draw", "bob": "count_bytes", "cat": "count_bytes_async", "dan": "seer"}


@pytest.mark.parametrize("pool", ["threads", pytest.param("processes", marks=pytest.mark.long)])
def test_every_kind_of_agent_reads_files(installation, model, pool):
    installation.start_worker(concurrency=2, options=("--pool", pool))
    model.answers(completion("I see a picture."))
    job = installation.submit(
        "round_robin",
        AGENTS,
        stop=MaxRounds(1),
        record=True,
        messages=["Look."],
        attachments=[Attachment.of("notes.txt", "These are notes.")],
    )
    result = result_of(job, timeout_s=90)
    sizes = "notes.txt=16, turn-1.png=10241"
    assert [it.content for it in result.dialog.messages] == [
        "Look.",
        "A picture.",
        sizes,
        sizes,
        "I see a picture.",
    ]
    content = model.asked[-1].body["messages"][-1]["content"]
    (picture,) = (part for part in content if part["type"] == "image_url")
    assert any("These are notes." in part.get("text", "") for part in content)
    url = picture["image_url"]["url"]
    assert base64.b64decode(url.removeprefix("data:image/png;base64,")) == PICTURE + b"1"
    records = RecordingStore(installation.client._parts.sessions.connections.redis).read_all(job.id)
    assert len(records) == 4
    assert all(len(it) < 20_000 for it in records.values())
    replayed = installation.client.replay(job.id, rerun=["ann", "bob", "cat"])
    assert (replayed.turns, replayed.requests, len(model.asked)) == (4, 1, 1)


@pytest.mark.long
def test_asynchronous_clients_read_files(installation, model):
    installation.start_worker()

    async def run():
        async with AsyncClient(load_settings(**installation.settings)) as client:
            collab = {
                "title": "t",
                "purpose": "p",
                "mode": "round_robin",
                "participants": [{"participant_id": "ann"}],
            }
            job = await client.submit(
                collab,
                agents={"ann": "count_bytes"},
                stop={"max_rounds": 1},
                attachments=[Attachment.of("a.bin", PICTURE)],
            )
            await job.result(timeout=patient(90))
            (file,) = await job.attachments()
            return await job.attachment_data(file)

    assert asyncio.run(run()) == PICTURE
