"""`--approver` and `--observer`: people without turns at the command line."""

from __future__ import annotations

import pytest

SESSION = """
title: A line above the door
purpose: Write one line above the door.
mode: round_robin
participants:
  - {participant_id: ada, agent: echo}
approvers: [ann]
stop: {max_turns: 1}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "session.yaml"
    path.write_text(SESSION)
    return str(path)


def test_options_add_people_to_those_of_the_file(busy, file):
    session = busy.call("submit", file, "--approver", "bob", "--observer", "cyd").out.strip()
    shown = busy.call("show", session).out
    assert "approvers: ann, bob" in shown
    assert "observers: cyd" in shown
    fields = busy.call("show", session, "--json").json()
    assert (fields["approvers"], fields["observers"]) == (["ann", "bob"], ["cyd"])


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--approver", "ada"), "approvers: must not be a participant"),
        (("--observer", "ann"), "observers: must not be named twice"),
        (("--observer", " "), "--observer[0]: must be a name"),
    ],
)
def test_wrong_names_are_refused_in_one_line(terminal, file, options, line):
    said = terminal.call("run", file, *options)
    assert said.code == 2
    assert line in said.err
    assert len(said.err.strip().splitlines()) == 1
