"""`symposia replay` and `symposia compare`."""

from __future__ import annotations

from pathlib import Path

import pytest

from processes.terminal import Terminal

pytestmark = pytest.mark.long


@pytest.fixture
def recorded(busy: Terminal, pair_file: str) -> str:
    """The id of a recorded session of four turns, which has ended."""
    session = busy.call("submit", pair_file, "--record").out.strip()
    assert busy.call("watch", session).code == 0
    return session


@pytest.fixture
def other(busy: Terminal, tmp_path: Path, pair_file: str) -> str:
    """The id of a session that was not recorded, and ends two turns earlier."""
    path = tmp_path / "other.yaml"
    path.write_text(Path(pair_file).read_text().replace("max_rounds: 2", "max_rounds: 1"))
    session = busy.call("submit", str(path)).out.strip()
    assert busy.call("watch", session).code == 0
    return session


def test_replay_of_the_same_agents_has_code_0(busy, recorded):
    said = busy.call("replay", recorded[:8])
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("✓ 4 turns are the same; 0 model requests and 0 tool calls were answered")
    data = busy.call("replay", recorded, "--json").json()
    assert (data["same"], data["turns"], data["run_again"]) == (True, 4, [1, 2, 3, 4])


def test_difference_names_the_turn_and_has_code_1(busy, recorded):
    registry = busy.folder / "registry.toml"
    text = registry.read_text()
    registry.write_text(text + '\n[agents.echo]\nkind = "scripted"\nreplies = ["{last}!"]\n')
    try:
        said, data = busy.call("replay", recorded), busy.call("replay", recorded, "--json")
    finally:
        registry.write_text(text)
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert said.err.startswith(
        "symposia: turn 1 (ann) differs from the record: message, line 1: recorded 'Write"
    )
    assert (data.code, data.json()["turn"], data.json()["participant"]) == (1, 1, "ann")


def test_session_that_was_not_recorded_has_code_2(busy, other):
    said = busy.call("replay", other)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert f"session '{other}' was not recorded: submit sessions with record=True" in said.err


def test_compare_of_a_session_with_itself_has_code_0(busy, other):
    said = busy.call("compare", other, other)
    assert said.code == 0
    assert "The dialogs are the same." in said.out


def test_compare_shows_the_first_difference(busy, recorded, other):
    said = busy.call("compare", other, recorded)
    assert said.code == 1
    assert (
        "The dialogs differ from message 3 on:\n  A has no such message\n  B turn 3, ann: Write one line"
        in said.out
    )
    data = busy.call("compare", other, recorded, "--json").json()
    assert (data["same"], data["first"]["turns"], data["second"]["turns"]) == (False, 2, 4)
    assert (data["difference"]["position"], data["difference"]["first"]) == (3, None)
