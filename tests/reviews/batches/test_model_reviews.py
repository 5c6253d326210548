"""Reviews by a model at a recording endpoint: what it is shown, and what of its answers counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from live import result_of, until
from review_tools.fixture import AGENTS, ReviewInstallation, panel, read
from servers.model_stub import Asked, StubModel, completion
from symposia.models.text.numbered_lines import read_numbered_lines
from symposia.reviews.values.panels import Panel
from symposia.reviews.values.runs import ReadItem, RunState

pytestmark = pytest.mark.leaves_keys

DEADLINE_S = 60
MODEL = """
[models.house]
model = "stub-model"
base_url = "{url}"
context_tokens = {tokens}
stream = false
input_usd_per_million = 1.0
output_usd_per_million = 2.0

[agents.coder]
kind = "llm"
model = "house"
"""
#: About 250 kB.
LARGE = "import os\n\n\n" + "".join(
    f"def number_{n}(value):\n    total = value + {n}  # {'x' * 40}\n    return total\n\n\n"
    for n in range(2_550)
)


@pytest.fixture
def installation(tmp_path: Path, redis_url: str, model: StubModel) -> Iterator[ReviewInstallation]:
    installation = ReviewInstallation(
        tmp_path, redis_url, archive=True, lease_s=30
    )  # no turn is repeated under load
    set_model(installation, model)
    yield installation
    installation.close()


def start_worker(installation: ReviewInstallation, tokens: int = 16_000) -> None:
    """Start a worker that has announced its model with this window."""
    installation.start_worker()
    workers = installation.client._installation.reviews.workers

    def is_announced() -> bool:
        model = workers.reader_models().get("coder")
        return model is not None and model.context_tokens == tokens

    until(is_announced, what="the worker announces its model")


def warm_up(installation: ReviewInstallation, model: StubModel) -> None:
    """Let the worker import its model clients.

    A turn that waits for the imports for 5 s is dispatched again, so its request may be sent twice.
    """
    model.answers(answer())
    result_of(installation.review(model_panel(), [read("warm.py", "x = 0\n")]), timeout_s=DEADLINE_S)
    model.reset()


def set_model(installation: ReviewInstallation, model: StubModel, tokens: int = 16_000) -> None:
    (installation.folder / "agents.toml").write_text(AGENTS + MODEL.format(url=model.url, tokens=tokens))


def model_panel(*programs: str, **more: Any) -> Panel:
    seats = [*({"name": it, "agent": it} for it in programs), {"name": "reviewer", "model": True}]
    return panel(seats=seats, parallel=4, **more).with_model("coder")


def answer(*findings: dict[str, Any]):
    return completion(json.dumps({"findings": findings, "summary": "looked"}))


def finding(line: int, quote: str, **more: Any) -> dict[str, Any]:
    return {
        "line": line,
        "quote": quote,
        "rule": "bug",
        "severity": "high",
        "message": "It is wrong.",
        **more,
    }


def prompt(asked: Asked) -> str:
    return "\n".join(content for _, content in asked.messages)


def reviewed_lines(model: StubModel) -> Counter[tuple[int, str]]:
    return Counter(
        (number, line.text)
        for asked in model.asked
        for number, line in read_numbered_lines(asked.messages[1][1]).items()
        if line.is_reviewed
    )


@pytest.mark.long
def test_each_line_of_a_large_file_is_in_one_request(installation: ReviewInstallation, model: StubModel):
    assert len(LARGE) > 250_000
    model.answers(answer())
    start_worker(installation)
    item = read("app/large.py", LARGE)
    run = result_of(installation.review(model_panel("finds"), [item]), timeout_s=DEADLINE_S)
    assert (run.state, len(run.results), run.skipped) == (RunState.COMPLETED, 1, ())
    assert reviewed_lines(model) == Counter(dict.fromkeys(enumerate(LARGE.split("\n")[:-1], start=1), 1))
    for asked in model.asked:
        assert '"app/large.py"' in prompt(asked)
        assert '"findings"' in prompt(asked)
        assert "import os" in prompt(asked)
    assert installation.calls() == ["app/large.py"], "a program reviews the whole file once"
    count = len(model.asked)
    again = result_of(installation.review(model_panel("finds"), [item]), timeout_s=DEADLINE_S)
    assert (again.state, again.results[0].state.value) == (RunState.COMPLETED, "unchanged")
    assert (len(model.asked), len(installation.calls())) == (count, 1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "quote", "found"),
    [(2, "y = x / 0", [2]), (1, "y = x / 0", [2]), (9, "y = x / 0", []), (2, "z = 1", []), (2, "", [])],
    ids=["right", "wrong-number", "after-the-end", "wrong-quote", "no-quote"],
)
def test_finding_must_quote_its_line(
    installation: ReviewInstallation, model: StubModel, line: int, quote: str, found
):
    model.answers(answer(finding(line, quote, severity="critical", replacement="y = x")))
    start_worker(installation)
    run = result_of(
        installation.review(model_panel(), [read("a.py", "x = 1\ny = x / 0\n")]), timeout_s=DEADLINE_S
    )
    assert [it.start_line for it in run.findings] == found
    assert run.state is RunState.COMPLETED
    if found:
        (kept,) = run.findings
        assert (kept.severity, kept.quote, kept.replacement) == ("high", "y = x / 0", "y = x")
    else:
        assert "1 finding dropped" in run.summary


@pytest.mark.long
@pytest.mark.parametrize(
    ("said", "reason", "error"),
    [
        ('{"findings": [{"line": 1, "message": "It div', "length", "cut at the token limit"),
        ('{"findings": []} and', "length", "cut at the token limit"),
        ('{"findings": [{"line": 1, "message": "It div', "stop", "reviewer: no list of findings"),
        ("It looks fine to me.", "stop", "reviewer: no list of findings"),
    ],
    ids=["cut", "cut-after-the-object", "broken", "words"],
)
def test_unreadable_answer_fails_the_item(
    installation: ReviewInstallation, model: StubModel, said: str, reason: str, error: str
):
    bad = completion(said)
    bad.body["choices"][0]["finish_reason"] = reason
    model.answers(bad)
    start_worker(installation)
    items: list[ReadItem] = [read("a.py", "x = 1\n")]
    run = result_of(installation.review(model_panel(attempts=1), items), timeout_s=DEADLINE_S)
    assert (run.state, run.results[0].state.value) == (RunState.FAILED, "failed")
    assert error in run.results[0].error
    model.answers(answer())
    again = result_of(installation.review(model_panel(attempts=1), items), timeout_s=DEADLINE_S)
    assert again.results[0].state.value == "done", "a failed item is not taken as unchanged"


@pytest.mark.long
def test_ignore_comment_suppresses_findings_of_models(installation: ReviewInstallation, model: StubModel):
    line = "y = x / 0  # symposia: ignore[bug] as in the original"
    model.answers(answer(finding(2, line)))
    start_worker(installation)
    run = result_of(
        installation.review(model_panel(), [read("a.py", f"x = 1\n{line}\n")]), timeout_s=DEADLINE_S
    )
    assert [it.suppressed_by for it in run.findings] == ["a comment: as in the original"]
    assert run.open_findings == ()


VERIFIED_SEATS = [
    {"name": "judge", "agent": "judge", "role": "orchestrator"},
    {"name": "reviewer", "model": True},
    {"name": "verifier", "model": True, "role": "verifier"},
]


@pytest.mark.long
@pytest.mark.parametrize("line", [1, 2], ids=["of-the-reviewer", "of-the-quote"])
def test_verdict_finds_the_finding_with_a_wrong_line(
    installation: ReviewInstallation, model: StubModel, line: int
):
    start_worker(installation)
    warm_up(installation, model)
    verdict = {"line": line, "rule": "bug", "verdict": "drop", "reason": "It cannot be 0."}
    model.answers(answer(finding(1, "y = 1 / x")), completion(json.dumps({"verdicts": [verdict]})))
    asked = panel(seats=VERIFIED_SEATS, mode="orchestrated", stop={"max_rounds": 4}).with_model("coder")
    run = result_of(installation.review(asked, [read("a.py", "x = 1\ny = 1 / x\n")]), timeout_s=DEADLINE_S)
    assert (run.state, run.findings) == (RunState.COMPLETED, ())
    assert "1 finding dropped" in run.summary


def test_verifier_decides_what_is_critical(installation: ReviewInstallation, model: StubModel):
    verdicts = [
        {"line": 1, "rule": "bug", "verdict": "keep", "reason": "It crashes."},
        {"line": 2, "rule": "bug", "verdict": "drop", "reason": "It cannot be 0."},
    ]
    start_worker(installation)
    warm_up(installation, model)
    model.answers(
        answer(finding(1, "x = 1 / 0", severity="critical"), finding(2, "y = 1 / x")),
        completion(json.dumps({"verdicts": verdicts})),
    )
    asked = panel(seats=VERIFIED_SEATS, mode="orchestrated", stop={"max_rounds": 4}).with_model("coder")
    run = result_of(
        installation.review(asked, [read("a.py", "x = 1 / 0\ny = 1 / x\n")]), timeout_s=DEADLINE_S
    )
    assert [(it.start_line, it.severity, it.verification.reason) for it in run.findings] == [
        (1, "critical", "It crashes.")
    ]
    assert "1 finding dropped" in run.summary
    assert len(model.asked) == 2
    assert "verdicts" in prompt(model.asked[1])
    assert "x = 1 / 0" in prompt(model.asked[1])


@pytest.mark.long
def test_text_that_does_not_fit_fails_the_item(installation: ReviewInstallation, model: StubModel):
    set_model(installation, model, tokens=200)
    start_worker(installation, tokens=200)
    run = result_of(installation.review(model_panel(), [read("a.py", "x = 1\n" * 500)]), timeout_s=DEADLINE_S)
    assert run.state is RunState.FAILED
    assert "the model or the budget allows 200" in run.results[0].error
    assert model.asked == []


@pytest.mark.long
def test_another_window_or_rule_is_reviewed_again(installation: ReviewInstallation, model: StubModel):
    start_worker(installation)
    warm_up(installation, model)
    model.answers(answer())
    items: list[ReadItem] = [read("a.py", "x = 1\n")]
    for rules, count in [("", 1), ("", 1), ("No x.", 2)]:
        asked = model_panel(review_rules=rules)
        assert result_of(installation.review(asked, items), timeout_s=DEADLINE_S).state is RunState.COMPLETED
        assert len(model.asked) == count
    assert "No x." in prompt(model.asked[-1])
    installation.workers.pop().close()
    set_model(installation, model, tokens=8_000)
    start_worker(installation, tokens=8_000)
    warm_up(installation, model)
    model.answers(answer())
    result_of(installation.review(model_panel(), items), timeout_s=DEADLINE_S)
    assert len(model.asked) == 1


@pytest.mark.long
@pytest.mark.timeout(150)
def test_killed_worker_doubles_no_chunk(installation: ReviewInstallation, model: StubModel):
    model.answers(answer())
    quick = replace(installation, lease_s=2.0, workers=[])
    quick.start_worker()
    quick.start_worker()
    job = quick.review(model_panel("finds"), [read("large.py", LARGE)])
    until(lambda: job.progress().done >= 2, timeout_s=40, what="two sessions are done")
    quick.workers[0].kill()
    run = result_of(job, timeout_s=80)
    quick.close()
    assert (run.state, len(run.results)) == (RunState.COMPLETED, 1)
    assert len(run.findings) == 1, "that of the program, once"
    shown = reviewed_lines(model)
    assert shown.keys() == set(enumerate(LARGE.split("\n")[:-1], start=1))
    # A request of the killed worker may be repeated; no request is booked twice.
    assert len({prompt(asked) for asked in model.asked}) <= run.usage.requests <= len(model.asked)
