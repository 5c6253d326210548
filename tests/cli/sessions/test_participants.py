"""A running session steered from the command line, and what a tenant has spent."""

from __future__ import annotations

import pytest

from live import until

TRIO = """
title: A line above the door
purpose: Write one line that stands above the door.
mode: round_robin
tenant: acme
participants:
  - {{participant_id: ann, agent: gated}}
  - {{participant_id: bob, agent: say}}
parameters: {{gate: {gate}, gate_turn: 1}}
stop: {{max_rounds: 2}}
"""


@pytest.fixture
def waiting(busy, tmp_path, gate):
    """The id of a session whose first turn is under way."""
    path = tmp_path / "trio.yaml"
    path.write_text(TRIO.format(gate=gate))
    session = busy.call("submit", str(path)).out.strip()
    busy.wait_until_speaks(session, "ann")
    return session


@pytest.mark.long
def test_steering_a_running_session_notifies_watchers(busy, waiting, gate):
    watching = busy.start("watch", waiting)
    assert busy.call("add", waiting, "cyd", "--agent", "say", "--by", "lena").code == 0
    assert busy.call("remove", waiting, "bob", "--by", "lena", "--json").json()["id"] == waiting
    assert busy.call("instruct", waiting, "ann", "Be brief.", "--by", "lena").code == 0
    assert busy.call("post", waiting, "Mind the gap.", "--role", "system", "--by", "lena").code == 0
    gate.touch()
    said = watching.until("completed").ended()
    assert "lena added cyd, from the next round on" in said.out
    assert "lena posted a message as system" in said.out
    assert "from now on: ann, cyd" in said.out
    assert said.out.count("Mind the gap.") == 1
    shown = busy.call("show", waiting, "--json").json()
    assert [p["participant_id"] for p in shown["collab"]["participants"]] == ["ann", "cyd"]


def test_invalid_change_is_refused_in_one_line(busy, waiting, gate):
    for command in (
        ("add", waiting, "ann"),
        ("remove", waiting, "zoe"),
        ("instruct", waiting, "zoe", "x"),
        ("post", waiting, "x", "--role", "agent"),
    ):
        said = busy.call(*command)
        assert (said.code, said.err.count("\n")) == (2, 1), command
    gate.touch()
    assert busy.call("watch", waiting).code == 0
    late = busy.call("post", waiting, "x")
    assert (late.code, "has already ended" in late.err) == (2, True)


@pytest.mark.usefixtures("same_day")
def test_tenant_usage_of_today_is_shown(busy, waiting, gate):
    gate.touch()
    assert busy.call("watch", waiting).code == 0
    until(
        lambda: busy.call("tenant", "acme", "--json").json()["turns"]["spent"] >= 4, what="turns are booked"
    )
    assert busy.call("tenant", "acme").out.startswith("tokens ")
    assert busy.call("tenant", "nobody", "--json").json()["turns"] == {"spent": 0, "limit": None}
