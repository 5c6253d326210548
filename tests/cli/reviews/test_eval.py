"""`symposia review eval` on real processes: programs on the data set of the examples, and a scripted model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from processes.terminal import Terminal
from servers.model_stub import StubModel, completion

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
kinds = { race = ["atomic"], leak = ["close"] }

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
FILES = {
    "a.py": "def a(read, write):\n    x = read()\n    write(x + 1)\n",
    "b.py": "def b(path):\n    file = open(path)\n    return file.read(1)\n",
    "c.py": "def c(path):\n    with open(path) as file:\n        return file.read(1)\n",
}
#: The same answer to each request: only `a.py` has the quoted line, so the finding is dropped in the others.
ANSWER = {
    "findings": [
        {
            "line": 2,
            "quote": "x = read()",
            "rule": "race",
            "severity": "high",
            "message": "This is not atomic.",
        }
    ],
    "summary": "looked",
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
def test_model_is_scored_and_asked_once(terminal: Terminal, tmp_path: Path):
    (tmp_path / "set" / "code").mkdir(parents=True)
    (tmp_path / "set" / "dataset.toml").write_text(DATASET)
    for name, text in FILES.items():
        (tmp_path / "set" / "code" / name).write_text(text)
    (terminal.folder / "data").mkdir(exist_ok=True)
    with StubModel() as model:
        model.answers(completion(json.dumps(ANSWER)))
        (tmp_path / "mine.toml").write_text(AGENTS.format(url=model.url))
        terminal.settings |= {"agents_file": str(tmp_path / "mine.toml"), "archive": "true"}
        arguments = ("review", "eval", str(tmp_path / "set"), "--model", "coder", "--json")
        scores = terminal.call(*arguments).json()
        assert (scores["total"]["recall"], scores["total"]["precision"]) == (0.5, 1.0)
        assert (scores["kinds"]["race"]["found"], scores["kinds"]["leak"]["found"]) == (1, 0)
        assert scores["usage"]["cost_micros"] == len(model.asked) * (11 * 1 + 7 * 2)
        asked = len(model.asked)
        assert not any("held-back" in json.dumps(it.body) for it in model.asked)
        again = terminal.call(*arguments).json()
        assert (again["total"], len(model.asked)) == (scores["total"], asked)
