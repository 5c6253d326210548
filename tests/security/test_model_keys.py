"""The key of a model is in the worker's environment and in the request's header, and nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis

from checks.everything_kept import everything_kept
from live import REGISTRY, LiveWorker, result_of, until
from scaling import patient
from servers.model_stub import StubModel, completion, refusal
from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.options import FailurePolicy
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.state.redis.connect import connect

KEY = "sk-a-key-that-nobody-may-see-0123456789"
#: On a machine with much else to do.
pytestmark = pytest.mark.timeout(240)

MODELS = """
[models.stub]
model = "stub"
base_url = "{url}"
api_key_env = "STUB_KEY"

[agents.model]
kind = "llm"
model = "stub"
"""


@pytest.fixture
def model() -> Iterator[StubModel]:
    with StubModel() as stub:
        yield stub


@contextmanager
def everything_sent(redis_url: str) -> Iterator[list[str]]:
    """Every command that any client sends to the server while the context lasts: task arguments among them."""
    heard: list[str] = []
    with Redis.from_url(redis_url, decode_responses=True) as client, client.monitor() as monitor:

        def listen() -> None:
            while True:
                heard.append(str(monitor.next_command()["command"]))
                if heard[-1].endswith("that is all"):
                    return

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield heard
        client.echo("that is all")
        thread.join(patient(20))
        assert not thread.is_alive()


def test_model_key_is_in_no_store_log_event_or_task(tmp_path: Path, redis_url: str, model: StubModel):
    (tmp_path / "agents.toml").write_text(REGISTRY + MODELS.format(url=model.url))
    settings = {"redis_url": redis_url, "agents_file": tmp_path / "agents.toml", "data_dir": tmp_path}
    env = {f"SYMPOSIA_{name.upper()}": str(value) for name, value in settings.items()}
    model.answers(
        refusal(500, f"the key {KEY} made me stumble", retry_after_ms="1"),
        completion("well said"),
        refusal(401, f"Incorrect API key provided: {KEY}."),
    )
    worker = LiveWorker("w1", tmp_path, env | {"STUB_KEY": KEY}, app="symposia.workers", concurrency=2)
    try:
        worker.wait_ready()
        with everything_sent(redis_url) as sent:
            job = Client(load_settings(**settings)).submit(
                Collab(
                    title="Keys",
                    purpose="keep them",
                    mode="round_robin",
                    participants=[Participant(participant_id=name) for name in ("ann", "bob")],
                ),
                agents={"ann": "model", "bob": "model"},
                stop=MaxTurns(2),
                policy=FailurePolicy(attempts=1),
            )
            result = result_of(job, timeout_s=90)
            until(lambda: len(model.asked) == 3, timeout_s=90, what="the model has refused the key")
    finally:
        worker.close()

    assert (result.ok, result.reason) == (False, "failed")
    assert "***" in result.detail
    assert all(asked.headers["authorization"] == f"Bearer {KEY}" for asked in model.asked)
    with connect(redis_url) as client:
        kept = list(everything_kept(client))
    told = [event.to_json() for event in job.events()]
    assert any("well said" in text for text in kept)
    assert any("HTTP 401" in text for text in told)
    for text in (*sent, *kept, *told, worker.log(), result.detail):
        assert KEY not in text
