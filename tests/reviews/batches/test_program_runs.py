"""Ruff and bandit run once for many files, with the same findings as for each file."""

from __future__ import annotations

import json

import pytest

from live import result_of
from review_tools.fixture import ReviewInstallation, read
from symposia.reviews.batches.program_runs import outputs_of, run_programs
from symposia.reviews.chunks.planner import PlannedSession
from symposia.reviews.panels import find_panel
from symposia.reviews.reviewers import code
from symposia.reviews.values.runs import ItemKind, ItemPart, PartReaders, RunState
from symposia.reviews.values.tool_settings import ToolSettings

FILES = [
    read("app/a.py", "import os\nimport pickle\n\npickle.loads(data)\n"),
    read("app/b.py", "x = 1\n"),
    read("tests/test_c.py", "import sys\nassert eval('1')\n"),
    read("broken.py", "def (\n"),
    read("run.sh", "echo $1\n"),
]
SETTINGS = ToolSettings(
    ruff={"pyproject.toml": {"lint": {"select": ["F", "B"], "per-file-ignores": {"tests/*": ["F401"]}}}},
    bandit={"app": {"skips": ["B403"], "severity": "low"}},
    modules=("app/a.py", "app/b.py"),
)
BOTH = frozenset({"ruff", "bandit"})


def by_file(agent: str, settings: ToolSettings) -> dict[str, list[object]]:
    return {
        item.item.path: json.loads(
            code.review_files(
                agent, {item.item.path: item.text}, settings.for_path(item.item.path, item.text)
            )[item.item.path]
        )["findings"]
        for item in FILES
        if item.item.path.endswith(".py")
    }


@pytest.mark.parametrize("settings", [ToolSettings(), SETTINGS], ids=["defaults", "settings"])
def test_one_run_finds_what_a_run_for_each_file_finds(settings: ToolSettings):
    outputs = run_programs(FILES, find_panel("code"), settings, built_in=BOTH)
    assert set(outputs) == {item.item.path for item in FILES if item.item.path.endswith(".py")}
    for agent in ("ruff", "bandit"):
        expected = by_file(agent, settings)
        assert {path: json.loads(texts[agent])["findings"] for path, texts in outputs.items()} == expected
        assert any(expected.values())


def test_replaced_agents_are_not_run():
    assert run_programs(FILES, find_panel("code"), ToolSettings(), built_in=frozenset()) == {}


@pytest.mark.parametrize(
    ("readers", "has_outputs"), [(None, True), (PartReaders.PROGRAMS, True), (PartReaders.MODELS, False)]
)
@pytest.mark.parametrize("kind", [ItemKind.FILE, ItemKind.CHANGE])
def test_programs_get_outputs_for_whole_files(kind: ItemKind, readers: PartReaders | None, has_outputs: bool):
    part = readers and ItemPart(number=1, count=2, readers=readers)
    item = FILES[0].item.model_copy(update={"kind": kind, "part": part})
    outputs = outputs_of(PlannedSession(item, ""), {"app/a.py": {"ruff": "{}"}})
    assert bool(outputs) is has_outputs


@pytest.mark.leaves_keys
def test_sessions_get_their_findings_without_a_process(shared: ReviewInstallation, monkeypatch):
    runs: list[int] = []
    review_files = code.review_files
    monkeypatch.setattr(
        "symposia.reviews.batches.program_runs.review_files",
        lambda name, files, settings: runs.append(len(files)) or review_files(name, files, settings),
    )
    job = shared.review(find_panel("code").with_model(None), FILES[:4])
    run = result_of(job, timeout_s=60)
    assert (run.state, runs) == (RunState.COMPLETED, [4, 4])
    assert {finding.path for finding in run.findings} == {"app/a.py", "tests/test_c.py", "broken.py"}
