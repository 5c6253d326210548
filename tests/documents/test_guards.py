"""Guards: the agents file and the module of docs/guards.md; each guard is hit once."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents.files import write_files
from documents.pages import Page
from documents.programs import run_program
from processes.terminal import Terminal
from symposia.agents.registry.registry import Registry

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/guards.md")
AGENTS = PAGE.take("toml", "[guards.short]")
MODULE = PAGE.take("python", "# my_guards.py")
#: Agents that the guards refuse; `ada` of the page is not refused.
REFUSED = """
[agents.long]
kind = "scripted"
replies = ["{long}"]
guards = ["short"]

[agents.leak]
kind = "scripted"
replies = ["The key is sk-abcdefghij0123456789."]
guards = ["no_keys"]

[agents.form]
kind = "scripted"
replies = ['{{"name": "no title"}}']
guards = ["form"]

[agents.rude]
kind = "python"
callable = "rude:speak"
guards = ["polite"]
"""
#: An agent that corrects its answer.
RUDE = """
def speak(turn):
    return "Come in, please." if "must say please" in turn.instruction else "Come in."
"""


def test_tables_and_module_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"agents.toml": AGENTS, "my_guards.py": MODULE})
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry.load(tmp_path / "agents.toml")
    assert registry.check() == []
    assert list(registry.guards_of("ada")) == ["short", "no_keys", "words"]


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {"agents.toml": AGENTS + REFUSED.format(long="x" * 2001), "my_guards.py": MODULE, "rude.py": RUDE}


@pytest.mark.long
def test_guards_of_the_page_act(terminal: Terminal) -> None:
    said = run_program(
        terminal,
        """
        from symposia import submit

        def say(name, heard="Hello."):
            people = [{"participant_id": name}]
            collab = {"title": "A", "purpose": "B", "mode": "round_robin", "participants": people}
            job = submit(collab, stop={"max_turns": 1}, messages=[heard], approvers=["ann"])
            if question := job.wait_for_question(timeout=40):
                job.reply("ann", "approve", token=question.reply_token)
            result = job.result(timeout=40)
            hits = [it.data["guard"] for it in job.collab().events if it.event_type == "guard.hit"]
            print(result.dialog.messages[-1].content, hits, result.reason)

        say("ada")
        say("ada", heard="The password is x.")
        for name in ("long", "leak", "form", "rude"):
            say(name)
        """,
    )
    assert said.splitlines() == [
        "Good morning, please come in. [] max_turns",
        "The password is x. ['words'] all_turns_failed",
        "Hello. ['short', 'short'] failed",
        "Hello. ['no_keys'] failed",
        '{"name": "no title"} [\'form\'] max_turns',
        "Come in, please. ['polite'] max_turns",
    ]
