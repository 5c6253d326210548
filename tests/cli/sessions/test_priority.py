"""`--priority` at the command line."""

from __future__ import annotations

SESSION = """
title: A line above the door
purpose: Write one line above the door.
mode: round_robin
priority: low
participants:
  - {participant_id: ada, agent: echo}
stop: {max_turns: 1}
"""


def test_option_replaces_the_priority_of_the_file(busy, tmp_path):
    file = tmp_path / "session.yaml"
    file.write_text(SESSION)
    for options, priority in (
        ((), "low"),
        (("--priority", "high"), "high"),
        (("--priority", "normal"), "normal"),
    ):
        session = busy.call("submit", str(file), *options).out.strip()
        assert (f"priority: {priority}" in busy.call("show", session).out) == (priority != "normal")
        assert busy.call("show", session, "--json").json()["priority"] == priority
    said = busy.call("run", str(file), "--priority", "urgent")
    assert said.code == 2
    assert "--priority: must be one of high, normal, low" in said.err
