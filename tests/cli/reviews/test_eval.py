"""`symposia review eval` on real processes: programs on the data set of the examples, and a scripted model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from processes.terminal import Terminal
from servers.model_stub import StubModel, completion
from symposia.reviews.values.findings import Category

SHIPPED = Path(__file__).parents[3] / "examples" / "review_eval"
AGENTS = """
[models.house]
model = "stub-model"
base_url = "{url}"
stream = false
input_usd_per_million = 1.0
output_usd_per_million = 2.0

[agents.coder]
kind = "llm"
model = "house"
"""
DATASET = """
name = "small"
folder = "code"
kinds = { race = { category = "concurrency" }, leak = { category = "resource" } }

[[files]]
path = "a.py"
set = "tuning"
defects = [{ kind = "race", quote = "x = read()" }]

[[files]]
path = "b.py"
set = "held-back"
defects = [{ kind = "leak", quote = "file = open(" }]

[[files]]
path = "c.py"
set = "held-back"
"""
REST = "\n\n# A file is longer than what a finding may name.\n" * 3
FILES = {
    "a.py": "def a(read, write):\n    x = read()\n    write(x + 1)\n" + REST,
    "b.py": "def b(path):\n    file = open(path)\n    return file.read(1)\n" + REST,
    "c.py": "def c(path):\n    with open(path) as file:\n        return file.read(1)\n" + REST,
}
WORDS = " ".join(category.value for category in Category)


def finding(file: str, line: int, kind: str, **more: object) -> dict[str, object]:
    quote = FILES[file].splitlines()[line - 1]
    words = {"title": "It fails", "why": f"With two callers it fails: {WORDS}."}
    place = {"file": file, "side": "new", "line": line, "end_line": line, "quote": quote}
    return {**place, "kind": kind, "severity": "high", "confidence": 0.9, **words, **more}


#: What a model reports, and its recall and F1. Every answer contains all words of the kinds.
MODELS = {
    "finds one": ([finding("a.py", 2, "concurrency")], 0.5, 0.67),
    "perfect": ([finding("a.py", 2, "concurrency"), finding("b.py", 2, "resource")], 1.0, 1.0),
    "marks whole files": (
        [finding(file, 1, kind, end_line=12) for file in FILES for kind in ("concurrency", "resource")],
        0.0,
        0.0,
    ),
    "marks each line": (
        [finding(file, line, kind) for file in FILES for line in (1, 2, 3) for kind in Category],
        1.0,
        0.04,
    ),
}


@pytest.mark.long
def test_programs_find_what_they_can_see(worked: Terminal):
    said = worked.call("review", "eval", str(SHIPPED), "--json")
    scores = said.json()
    assert said.code == 0
    kinds = {kind: it["found"] for kind, it in scores["kinds"].items()}
    if shutil.which("shellcheck"):
        assert kinds["shell-quoting"] == 4
    assert (kinds["sql-injection"], kinds["unsafe-load"], kinds["off-by-one"]) == (4, 4, 0)
    assert scores["clean"] == {"files": 8, "findings": 0}
    assert [(it["path"], it["rule"]) for it in scores["false_findings"]] == [("cards.py", "B310")]
    again = worked.call("review", "eval", str(SHIPPED), "--set", "held-back")
    assert again.code == 0
    assert "unchanged" in again.out
    assert "set held-back" in again.out


@pytest.mark.long
@pytest.mark.leaves_keys
@pytest.mark.parametrize("name", MODELS)
def test_model_is_scored_and_asked_once(terminal: Terminal, tmp_path: Path, name: str):
    findings, recall, f1 = MODELS[name]
    (tmp_path / "set" / "code").mkdir(parents=True)
    (tmp_path / "set" / "dataset.toml").write_text(DATASET)
    for file, text in FILES.items():
        (tmp_path / "set" / "code" / file).write_text(text)
    (terminal.folder / "data").mkdir(exist_ok=True)
    with StubModel() as model:
        model.answers(completion(json.dumps({"findings": findings, "summary": "looked"})))
        (tmp_path / "mine.toml").write_text(AGENTS.format(url=model.url))
        terminal.settings |= {"agents_file": str(tmp_path / "mine.toml"), "archive": "true"}
        arguments = ("review", "eval", str(tmp_path / "set"), "--model", "coder", "--json")
        scores = terminal.call(*arguments).json()
        assert scores["total"]["recall"] == recall
        assert round(scores["total"]["f1"], 2) == f1
        asked = len(model.asked)
        assert scores["usage"]["cost_micros"] == asked * (11 * 1 + 7 * 2)
        assert not any("held-back" in json.dumps(it.body) for it in model.asked)
        again = terminal.call(*arguments).json()
        assert (again["total"], len(model.asked)) == (scores["total"], asked)
