"""`symposia review --batch` asks models through the batch API of their provider, at half the price."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from processes.terminal import Terminal
from scaling import patient
from servers.batch_stub import BatchStub
from servers.model_stub import completion
from symposia.cli.app import build_app

AGENTS = """
[models.house]
model = "openai:stub-model"
base_url = "{url}"
api_key_env = "STUB_KEY"
price = {{input = 2, output = 4}}

[agents.coder]
kind = "llm"
model = "house"
"""
FINDING = {"line": 1, "quote": "x = 1", "kind": "other", "severity": "high", "message": "It is wrong."}


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchStub]:
    with BatchStub(ends_at_once=True) as stub:
        (tmp_path / "mine.toml").write_text(AGENTS.format(url=stub.url))
        monkeypatch.setenv("SYMPOSIA_AGENTS_FILE", str(tmp_path / "mine.toml"))
        monkeypatch.setenv("STUB_KEY", "sk-stub")
        yield stub.answers(completion(json.dumps({"findings": [FINDING]})))


def test_estimate_counts_the_price_of_batches(
    tmp_path: Path, provider: BatchStub, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "small.py").write_text("x = 1\n")
    monkeypatch.setenv("SYMPOSIA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    costs = []
    for option in ("--no-batch", "--batch"):
        command = ["review", "small.py", "--model", "coder", option, "--dry-run", "--json"]
        done = CliRunner().invoke(build_app(), command)
        assert done.exit_code == 0, done.output
        costs.append(json.loads(done.stdout)["cost_micros"])
    assert costs[1] == pytest.approx(costs[0] / 2, abs=1)
    assert provider.batches == []


@pytest.mark.long
@pytest.mark.timeout(150)
def test_review_in_batches_runs_to_its_end(bare: Terminal, provider: BatchStub):
    (bare.folder / "shop").mkdir()
    (bare.folder / "shop" / "small.py").write_text("x = 1\n")
    command = ("review", "shop", "--panel", "code", "--model", "coder", "--batch", "--json")
    said = bare.run(*command, timeout_s=patient(100))
    assert said.code == 1, said
    assert [finding["message"] for finding in said.json()["findings"]] == [FINDING["message"]]
    assert [len(batch.lines) for batch in provider.batches] == [1]
    assert provider.asked == []
    bare.wait_until_nothing_runs()
