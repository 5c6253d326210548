"""`symposia review` of whole projects: their settings, ignores, branches, scripts, and the gate."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from processes.terminal import Terminal
from review_tools.git_tree import GitTree

pytestmark = pytest.mark.long

#: Code without findings in the settings below, with space for defects.
CLEAN = (
    '"""Till of a shop."""\n\nimport json\n\n\ndef read(text: str) -> dict:\n    return json.loads(text)\n'
)
SETTINGS = """
[tool.ruff]
line-length = 80
[tool.ruff.lint]
select = ["E", "F", "B", "S110", "BLE001", "I"]
[tool.ruff.lint.per-file-ignores]
"tests/*" = ["F401"]
[tool.bandit]
skips = ["B602"]
"""
#: Ten defects by the rule that names each; None: no program can see it.
PLANTED = {
    "F821": "def total():\n    return prise * 2\n",
    "F841": "def unused():\n    price = 3\n",
    "E711": "def same(x):\n    return x == None\n",
    "E722": "def loads(text):\n    try:\n        return json.loads(text)\n    except:\n        pass\n",
    "B006": "def add(item, items=[]):\n    items.append(item)\n    return items\n",
    "B307": "def run(text):\n    return eval(text)\n",
    "B324": "def digest(data):\n    import hashlib\n\n    return hashlib.md5(data)\n",
    "F632": "def is_three(x):\n    return x is 3\n",
    "off by one": "def last(items):\n    return items[len(items)]\n",
    "wrong sign": "def change(paid, price):\n    return price - paid\n",
}
#: Old code with a defect on a line that the branch does not change.
OLD = "import os\n\n\ndef old(text):\n    return eval(text)\n\n\n"


def rules(said) -> set[tuple[str, str]]:
    """Return names of files and all names of rules."""
    return {
        (Path(it["path"]).name, name)
        for it in said.json()["findings"]
        if it["status"] in ("new", "still")
        for name in (it["rule"], *it["aliases"])
    }


def test_project_is_reviewed_by_its_own_settings(worked: Terminal, project):
    (project / "pyproject.toml").write_text(SETTINGS)
    (project / "tests").mkdir()
    long = f"import os  # {'x' * 80}\nimport subprocess\n\nsubprocess.call('ls', shell=True)\n"
    (project / "tests" / "test_a.py").write_text(long)
    (project / "b.py").write_text(long)
    said = worked.call("review", str(project), "--json")
    assert rules(said) == {("test_a.py", "E501"), ("b.py", "E501"), ("b.py", "F401")}
    said = worked.call("review", str(project), "--json", "--no-config")
    assert rules(said) == {(name, rule) for name in ("test_a.py", "b.py") for rule in ("F401",)}
    mine = worked.folder / "mine.toml"
    mine.write_text("[tool.ruff]\nline-length = 200\n[tool.bandit]\nseverity = 'low'\ntests = ['B404']\n")
    said = worked.call("review", str(project), "--json", "--config", str(mine))
    assert rules(said) >= {("b.py", "F401"), ("b.py", "B404")}
    assert ("b.py", "E501") not in rules(said)


def test_branch_review_shows_its_planted_defects_only(worked: Terminal, tmp_path):
    tree = GitTree(tmp_path / "shop")
    tree.put("pyproject.toml", SETTINGS.replace('"E"', '"E", "F632"'))
    tree.put("till.py", OLD + CLEAN)
    tree.put("other.py", OLD)
    tree.commit()
    tree.git("checkout", "--quiet", "-b", "feature")
    body = "\n\n".join(PLANTED.values())
    tree.put("till.py", f"{OLD}{CLEAN}\n\n{body}")
    said = worked.call("review", str(tree.folder), "--base", "main", "--json")
    assert said.code == 1
    visible = {rule for rule in PLANTED if rule[1:].isdigit()}
    named = {rule for _, rule in rules(said)}
    assert visible <= named, said
    first = (OLD + CLEAN).count("\n") + 1
    assert all(it["start_line"] >= first for it in said.json()["findings"])
    caught = [it for it in said.json()["findings"] if {"E722", "S110"} & {it["rule"], *it["aliases"]}]
    assert len(caught) == 1, "one cause is one finding"
    assert len(said.json()["findings"]) == len(visible)


def test_gate_counts_findings_that_the_base_branch_lacks(worked: Terminal, tmp_path):
    tree = GitTree(tmp_path / "gate")
    tree.put("old.py", "eval('1')\n")
    tree.commit()
    review = ("review", str(tree.folder), "--root-name", "gate", "--json")
    assert worked.call(*review, "--fail-on", "new:medium").code == 1
    assert worked.call(*review, "--fail-on", "new:medium").code == 0
    tree.git("checkout", "--quiet", "-b", "feature")
    tree.put("fresh.py", "import os\n\neval('2')\n")
    gate = ("--against", "main", "--fail-on")
    for _ in range(2):  # the branch's own runs do not make its findings old
        assert worked.call(*review, *gate, "new:medium").code == 1
    assert worked.call(*review, *gate, "new:high").code == 0
    assert worked.call(*review, "--fail-on", "new").code == 0
    points = worked.call("review", "trend", "gate", "--json").json()
    assert [it["branch"] for it in points] == ["main"] * 2 + ["feature"] * 4
    assert [(it["findings"], it["new"]) for it in points[1:3]] == [({"medium": 1}, 0), ({"medium": 3}, 2)]
    lines = worked.call("review", "trend", "gate", "--branch", "main").out.splitlines()
    assert (len(lines), lines[0]) == (3, "gate by code")
    assert lines[1].endswith("main  completed: 1 medium (1 new, 0 gone, 0 suppressed)")


def test_ignored_findings_are_listed_with_their_reason(worked: Terminal, project):
    (project / "a.py").write_text("eval('1')  # symposia: ignore[B307] our own text\n")
    said = worked.call("review", str(project))
    assert said.code == 0, said
    assert "no findings (1 suppressed)" in said.out
    assert "suppressed by a comment: our own text" in said.out


def test_scripts_are_reviewed_where_shellcheck_is_installed(worked: Terminal, project):
    (project / "run.sh").write_text("#!/bin/sh\nrm $1\n")
    said = worked.call("review", str(project), "--json")
    if shutil.which("shellcheck", path=worked.environment.get("PATH")) is None:
        assert "1 not installed: shellcheck." in said.json()["summary"]
        pytest.skip("shellcheck is not installed: make debian-packages")
    assert rules(said) == {("run.sh", "SC2086")}


def test_missing_tool_is_named_once(worked: Terminal, project, monkeypatch):
    for name in ("a.sh", "b.sh"):
        (project / name).write_text("echo hello\n")
    empty = project / "bin"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    said = worked.call("review", str(project), "--json")
    assert said.code == 0, said
    assert (
        said.json()["summary"]
        == "1 item: 1 done. Reviewed 1 of 3 items (33%); not reviewed: 2 not installed: shellcheck."
    )
