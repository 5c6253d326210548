"""`symposia review --dry-run` says what a review would send, and sends nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from servers.model_stub import StubModel
from symposia.cli.app import build_app

AGENTS = """
[models.house]
model = "stub-model"
base_url = "{url}"
context_tokens = 2_000
{price}

[agents.coder]
kind = "llm"
model = "house"
"""


@pytest.mark.parametrize("has_price", [True, False], ids=["price", "no-price"])
def test_dry_run_prints_chunks_and_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_price: bool):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "large.py").write_text("".join(f"def number_{n}():\n    return {n}\n\n\n" for n in range(500)))
    (folder / "small.py").write_text("x = 1\n")
    with StubModel() as model:
        price = "input_usd_per_million = 1.0" if has_price else ""
        (tmp_path / "mine.toml").write_text(AGENTS.format(url=model.url, price=price))
        monkeypatch.setenv("SYMPOSIA_AGENTS_FILE", str(tmp_path / "mine.toml"))
        monkeypatch.setenv("SYMPOSIA_DATA_DIR", str(tmp_path / "data"))
        monkeypatch.chdir(folder)
        done = CliRunner().invoke(build_app(), ["review", "--model", "coder", "--dry-run", "--json"])
        assert done.exit_code == 0, done.output
        assert model.asked == []
    said = json.loads(done.stdout)
    large, small = said["items"]
    assert (small["chunks"], small["sessions"], large["sessions"]) == (1, 1, large["chunks"] + 1)
    assert large["chunks"] > 5
    assert said["tokens"] == large["tokens"] + small["tokens"]
    assert (said["cost_micros"] is not None) == has_price


PANEL = """
[mine]
mode = "broadcast"
purpose = "Find errors."
seats = [{ name = "a", agent = "ada" }]
"""
MODULE = 'import symposia\n\nsymposia.agent("ada")(lambda turn: None)\n'


@pytest.mark.long
def test_dry_run_knows_agents_of_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    folder, code = tmp_path / "shop", tmp_path / "code"
    for path in (folder, code):
        path.mkdir()
    (folder / "panels.toml").write_text(PANEL)
    (folder / "small.py").write_text("x = 1\n")
    (code / "marked_reviewers.py").write_text(MODULE)
    (tmp_path / "mine.toml").write_text('modules = ["marked_reviewers"]\n')
    monkeypatch.setenv("SYMPOSIA_AGENTS_FILE", str(tmp_path / "mine.toml"))
    monkeypatch.setenv("SYMPOSIA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(folder)
    command = ["review", "--panel", "mine", "--dry-run", "--json"]
    assert CliRunner().invoke(build_app(), command).exit_code != 0
    assert "mine.toml: modules[0]: marked_reviewers: cannot be imported: ModuleNotFoundError" in caplog.text
    monkeypatch.setenv("PYTHONPATH", str(code))
    done = CliRunner().invoke(build_app(), command)
    assert done.exit_code == 0, done.output
    assert [it["sessions"] for it in json.loads(done.stdout)["items"]] == [1, 1]
