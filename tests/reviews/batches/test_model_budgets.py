"""Cost limits, errors of providers and verifiers in reviews by models at a recording endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from live import result_of, until
from review_tools.fixture import AGENTS, ReviewInstallation, panel, read
from servers.model_stub import Answer, StubModel, completion, refusal
from symposia.models.errors import InvalidInput
from symposia.models.turns.message_lists import estimate_tokens
from symposia.reviews.batches.request import ReviewRequest, estimate_review
from symposia.reviews.values.coverage import coverage_of
from symposia.reviews.values.runs import RunState

pytestmark = pytest.mark.leaves_keys

DEADLINE_S = 60
MODEL = """
[models.{name}]
model = "{name}-model"
base_url = "{url}"
stream = false
{price}

[agents.{name}]
kind = "llm"
model = "{name}"
"""
PRICES = {
    "cheap": "price = {input = 1, output = 2}",
    "dear": "price = {input = 3, output = 15}",
    "unpriced": "",
}
ORCHESTRATED = {"mode": "orchestrated", "stop": {"max_rounds": 4}}
JUDGE = {"name": "judge", "agent": "judge", "role": "orchestrator"}
FINDING = {"line": 1, "quote": "x = 1", "rule": "bug", "severity": "high", "message": "It is wrong."}


class GreedyModel(StubModel):
    """Answers as long as it may (`tokens` at most), and has more tokens than a quarter of the bytes."""

    tokens = 30_000

    def next_answer(self, body: dict[str, Any]) -> Answer:
        answer = completion(json.dumps({"findings": [FINDING], "summary": "looked"}))
        asked = sum(estimate_tokens(message["content"]) for message in body["messages"])
        most = body.get("max_tokens") or body.get("max_completion_tokens") or self.tokens
        spent = {"prompt_tokens": asked * 3 // 2, "completion_tokens": min(most, self.tokens)}
        answer.body["usage"] = {**spent, "total_tokens": sum(spent.values())}
        return answer


@pytest.fixture
def greedy() -> Iterator[GreedyModel]:
    with GreedyModel() as stub:
        yield stub


def start(installation: ReviewInstallation, model: StubModel) -> None:
    """Start a worker that has announced the models."""
    models = "".join(MODEL.format(name=name, url=model.url, price=price) for name, price in PRICES.items())
    (installation.folder / "agents.toml").write_text(AGENTS + models)
    installation.start_worker()
    workers = installation.client._installation.reviews.workers
    until(lambda: "dear" in workers.reader_models(), what="the worker announces its models")


def model_panel(*agents: str, **more: Any):
    seats = [{"name": agent, "agent": agent, "model": True} for agent in agents]
    return panel(**{"seats": [JUDGE, *seats], "parallel": 3, "attempts": 1, **ORCHESTRATED, **more})


@pytest.mark.parametrize("max_usd", [0.05, 0.2])
def test_cost_limit_is_never_exceeded(installation: ReviewInstallation, greedy: GreedyModel, max_usd: float):
    start(installation, greedy)
    asked = model_panel("cheap", "dear", batch={"max_usd": max_usd})
    files = [read(f"f{number}.py", "x = 1\n" + f"y = {number}\n" * 200) for number in range(20)]
    run = result_of(installation.review(asked, files), timeout_s=DEADLINE_S)
    assert max_usd / 4 < run.usage.cost_micros / 1e6 <= max_usd
    assert run.state is RunState.PARTIAL
    assert "Stopped: budget of cost exhausted" in run.summary
    coverage = coverage_of(run)
    assert 0 < coverage.reviewed < coverage.total == 20
    assert f"Reviewed {coverage.reviewed} of 20 items" in run.summary
    assert coverage.reviewed == sum(bool(result.usage.cost_micros) for result in run.results), "paid is done"


def test_seat_without_a_price_is_refused(installation: ReviewInstallation, model: StubModel):
    start(installation, model)
    files = [read("a.py", "x = 1\n")]
    with pytest.raises(InvalidInput, match=r"seats\.unpriced\.agent.*price for each of its models"):
        installation.review(model_panel("dear", "unpriced", batch={"max_usd": 1.0}), files)
    model.answers(completion(json.dumps({"findings": []})))
    run = result_of(installation.review(model_panel("unpriced"), files), timeout_s=DEADLINE_S)
    assert run.state is RunState.COMPLETED


def test_equal_errors_of_the_provider_stop_the_batch(installation: ReviewInstallation, model: StubModel):
    start(installation, model)
    model.answers(refusal(401, "Incorrect API key"))
    files = [read(f"f{number}.py", "x = 1\n") for number in range(40)]
    run = result_of(installation.review(model_panel("dear", attempts=2), files), timeout_s=DEADLINE_S)
    assert run.state is RunState.FAILED
    assert "equal errors in a row" in run.summary
    assert "HTTP 401" in run.summary
    assert len(model.asked) <= 12, "five, and those that were under way"


@pytest.mark.parametrize("verdicts", ["I agree.", '{"verdicts": []}'], ids=["words", "none"])
def test_finding_without_a_verdict_is_unverified(
    installation: ReviewInstallation, model: StubModel, verdicts: str
):
    start(installation, model)
    model.answers(completion(json.dumps({"findings": [FINDING]})), completion(verdicts))
    seats = [JUDGE, {"name": "dear", "agent": "dear", "model": True}]
    verifier = {"name": "second", "agent": "cheap", "model": True, "role": "verifier"}
    asked = panel(seats=[*seats, verifier], attempts=1, **ORCHESTRATED)
    run = result_of(installation.review(asked, [read("a.py", "x = 1\n")]), timeout_s=DEADLINE_S)
    assert [(it.unverified, it.verification) for it in run.findings] == [(True, None)]
    assert "1 finding unverified" in run.summary


def test_answers_of_a_cancelled_session_are_done(installation: ReviewInstallation, model: StubModel):
    start(installation, model)
    model.answers(completion(json.dumps({"findings": [FINDING]})))
    seats = [{"name": "dear", "agent": "dear", "model": True}]
    verifier = {"name": "second", "agent": "gated", "role": "verifier"}
    job = installation.review(
        panel(seats=[*seats, verifier], stop={"max_rounds": 1}), [read("a.py", "x = 1\n")]
    )
    until(installation.calls, timeout_s=DEADLINE_S, what="the verifier is asked")
    job.cancel()
    (installation.folder / "gate").touch()
    run = result_of(job, timeout_s=DEADLINE_S)
    assert run.state is RunState.CANCELLED
    assert [(it.state.value, len(it.findings)) for it in run.results] == [("done", 1)]
    assert run.usage.cost_micros > 0


@pytest.mark.parametrize("agents", [("dear",), ("dear", "cheap")])
def test_estimate_is_within_half_of_the_usage(
    installation: ReviewInstallation, greedy: GreedyModel, agents: tuple[str, ...]
):
    start(installation, greedy)
    greedy.tokens = 400
    files = [read(f"{lines}.py", "x = 1\n" + "total = compute(value, 3)\n" * lines) for lines in (1, 40, 400)]
    asked, reviews = model_panel(*agents), installation.client._installation.reviews
    request = ReviewRequest(
        root_name="test", panel=asked, source=files, models=reviews.workers.reader_models()
    )
    estimate = estimate_review(request, None, known_agents=reviews.workers.known_agents())
    run = result_of(installation.review(asked, files), timeout_s=DEADLINE_S)
    for expected, result in zip(estimate.items, run.results, strict=True):
        for number, real in (
            (expected.tokens, result.usage.tokens),
            (expected.cost_micros or 0, result.usage.cost_micros),
        ):
            assert real / 1.5 <= number <= real * 1.5, (expected, result.usage)
