"""Guards of the agents file in `run_local`: real workers, an embedded server."""

from __future__ import annotations

import pytest

from symposia import run_local_sync

COLLAB = {"title": "Doors", "purpose": "choose a door", "mode": "round_robin"}
FILE = """
[guards.check]
kind = "deny"
words = ["wall"]
then = "{action}"

[agents.bob]
kind = "scripted"
guards = ["check"]
replies = ["a Wall"]
"""


@pytest.mark.parametrize(
    ("action", "status", "effects"),
    [
        ("skip", "completed", ["skip"]),
        ("abort", "cancelled", ["abort"]),
        ("ask_again", "completed", ["ask_again", "fail"]),
    ],
)
def test_guards_of_the_agents_file_check_local_runs(tmp_path, monkeypatch, action, status, effects):
    (tmp_path / "agents.toml").write_text(FILE.format(action=action))
    monkeypatch.chdir(tmp_path)
    policy = {"attempts": 1, "then": "skip"}
    agents = {"ann": lambda _: "a door", "bob": "bob"}
    result = run_local_sync(COLLAB, agents=agents, stop={"max_turns": 2}, policy=policy, timeout_s=60)
    assert [message.content for message in result.dialog.messages] == ["a door"]
    assert result.collab.status == status
    hits = [event.data["action"] for event in result.collab.events if event.event_type == "guard.hit"]
    assert hits == effects
