"""Reviews through a provider's batch API with real workers: results, prices, killed workers, cancellation."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest

from live import result_of, until
from review_tools.fixture import AGENTS, ReviewInstallation, panel, read
from servers.batch_stub import BatchStub
from servers.model_stub import completion
from symposia.models.errors import InvalidInput
from symposia.models.sessions.known_agents import ReaderModel
from symposia.reviews.batches.needs import check_seats
from symposia.reviews.values.panels import readers_of
from symposia.reviews.values.runs import RunState

pytestmark = pytest.mark.leaves_keys

DEADLINE_S = 60
MODEL = """
[models.batched]
model = "openai:stub-model"
base_url = "{url}"
api_key_env = "STUB_KEY"
price = {{input = 2, output = 4}}

[agents.batched]
kind = "llm"
model = "batched"
"""
FINDING = {"line": 1, "quote": "x = 1", "rule": "bug", "severity": "high", "message": "It is wrong."}
SEATS = [
    {"name": "judge", "agent": "judge", "role": "orchestrator"},
    {"name": "reviewer", "agent": "batched", "model": True},
]
PANEL = panel(seats=SEATS, mode="orchestrated", stop={"max_rounds": 2, "deadline_s": 5}, batch_api=True)


@pytest.fixture
def provider() -> Iterator[BatchStub]:
    with BatchStub() as stub:
        yield stub.answers(completion(json.dumps({"findings": [FINDING]})))


@pytest.fixture
def batched(installation: ReviewInstallation, provider: BatchStub, monkeypatch) -> ReviewInstallation:
    monkeypatch.setenv("STUB_KEY", "sk-stub")
    (installation.folder / "agents.toml").write_text(AGENTS + MODEL.format(url=provider.url))
    return installation


def start(installation: ReviewInstallation) -> None:
    installation.start_worker()
    workers = installation.client._installation.reviews.workers
    until(lambda: "batched" in workers.reader_models(), what="the worker announces its model")


def submitted(provider: BatchStub) -> list[str]:
    """The requests of all batches, by their names."""
    return [line["custom_id"] for batch in provider.batches for line in batch.lines]


@pytest.mark.parametrize("dies", ["no", "waiting", "submitting"])
@pytest.mark.timeout(150)
def test_review_by_batches_survives_killed_workers(
    batched: ReviewInstallation, provider: BatchStub, dies: str
):
    batched.lease_s = 30  # the end of a killed process is seen at once
    gate = provider.gate = threading.Event() if dies == "submitting" else None
    start(batched)
    job = batched.review(PANEL, [read(f"f{number}.py", "x = 1\n") for number in range(6)])
    until(lambda: len(submitted(provider)) >= 1, timeout_s=DEADLINE_S, what="a batch is submitted")
    if dies != "no":
        batched.workers[0].kill()
        provider.gate = gate and gate.set()
        start(batched)
    until(lambda: len(set(submitted(provider))) == 6, timeout_s=DEADLINE_S, what="all are submitted")
    until(lambda: provider.checks, timeout_s=DEADLINE_S, what="a batch is checked")
    assert job.progress().done == 0
    provider.ends_at_once = True
    provider.finish()
    run = result_of(job, timeout_s=DEADLINE_S)
    assert (run.state, len(run.findings)) == (RunState.COMPLETED, 6)
    assert len(submitted(provider)) == 6, "no request is submitted twice"
    assert run.usage.cost_micros == 6 * round((11 * 2 + 7 * 4) / 2)
    assert provider.asked == []


@pytest.mark.timeout(120)
def test_cancelled_review_cancels_its_batches(batched: ReviewInstallation, provider: BatchStub):
    start(batched)
    job = batched.review(PANEL, [read(f"f{number}.py", "x = 1\n") for number in range(3)])
    until(lambda: len(submitted(provider)) == 3, timeout_s=DEADLINE_S, what="all are submitted")
    until(lambda: provider.checks, timeout_s=DEADLINE_S, what="a batch is checked")
    job.cancel()
    assert result_of(job, timeout_s=DEADLINE_S).state is RunState.CANCELLED
    until(
        lambda: {batch.status for batch in provider.batches} == {"cancelled"},
        timeout_s=DEADLINE_S,
        what="the provider's batches are cancelled",
    )


def test_requested_number_of_sessions_side_by_side_counts():
    assert PANEL.side_by_side == PANEL.with_parallel(None).side_by_side == 1_000
    assert PANEL.with_parallel(8).side_by_side == 8
    assert PANEL.with_parallel(8).sha() == PANEL.sha()


def test_batches_cost_less_and_need_a_provider_that_has_them():
    model = ReaderModel(model="openai:stub-model", input_usd_per_million=2.0, output_usd_per_million=4.0)
    readers = readers_of(PANEL, {"batched": model})
    assert readers["reviewer"].input_usd_per_million == 1.0
    assert readers["reviewer"].output_usd_per_million == 2.0
    check_seats(PANEL, readers)
    with pytest.raises(InvalidInput, match=r"seats\.reviewer\.agent.*batch API.*--no-batch"):
        check_seats(PANEL, {"reviewer": ReaderModel(model="qwen3")})
