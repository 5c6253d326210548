"""Changed code is checked in a process of its own before the workers take it: which errors prevent a reload."""

from __future__ import annotations

import os

import pytest

from live import until
from symposia.workers.local.code_check import CodeReloader, check_code

pytestmark = pytest.mark.long

AGENTS = """
modules = ["broken_agents"]

[agents.ada]
kind = "python"
callable = "good_agents:ada"
"""
GOOD = "def ada(turn):\n    return 'one'\n"


@pytest.fixture
def environment(tmp_path, monkeypatch):
    (tmp_path / "agents.toml").write_text(AGENTS)
    (tmp_path / "good_agents.py").write_text(GOOD)
    (tmp_path / "broken_agents.py").write_text("import no_such_library\n")
    monkeypatch.chdir(tmp_path)
    return {**os.environ, "SYMPOSIA_AGENTS_FILE": str(tmp_path / "agents.toml")}


def test_only_a_new_error_prevents_a_reload(tmp_path, environment):
    said: list[str] = []
    reloads: list[int] = []
    code = check_code(environment)
    assert ("no_such_library" in "".join(code.problems), len(code.code_problems)) == (True, 1)
    reloader = CodeReloader(
        tmp_path / "agents.toml",
        code,
        environment=environment,
        reload=lambda: reloads.append(len(said)),
        say=said.append,
    )

    def change(text: str) -> str:
        (tmp_path / "good_agents.py").write_text(text)
        before = len(said)
        until(lambda: reloader.check_files() or len(said) > before, what="the change is checked")
        return said[-1]

    line = change("def ada(turn) return 'one'\n")
    assert line.startswith("good_agents.py changed, not reloaded, workers keep the old code: ")
    assert "[agents.ada] callable: ImportError: good_agents:ada: SyntaxError" in line
    assert reloads == []
    assert change(GOOD.replace("one", "two more")).startswith("good_agents.py changed, reloading")
    assert len(reloads) == 1
