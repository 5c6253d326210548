"""An alignment session from the command line, from its file to its transcript."""

from __future__ import annotations

import pytest

from processes.terminal import Terminal
from symposia.alignment.document import lint, parse

SESSION = """
title: Files or tables
purpose: Agree on what is the source.
mode: round_robin
protocol: alignment
stop: {max_rounds: 2}
participants:
  - {participant_id: ann, agent: echo}
  - {participant_id: bob, agent: echo}
"""


@pytest.fixture
def ended(busy: Terminal, tmp_path):
    (tmp_path / "session.yaml").write_text(SESSION)
    said = busy.call("run", str(tmp_path / "session.yaml"), "--json")
    return busy, said.json()["collab"]["collab_id"], busy.folder


def test_run_saves_the_transcript_that_export_prints(ended):
    terminal, session, folder = ended
    saved = (folder / f"{session}.dialogue.md").read_text()
    assert lint(saved, strict=True) == ()
    assert [it.agents for it in parse(saved).rounds] == [("ann", "bob")] * 2
    assert terminal.call("export", session, "--format", "markdown").out == saved


def test_session_without_alignment_has_no_document(busy: Terminal, tmp_path):
    (tmp_path / "session.yaml").write_text(SESSION.replace("protocol: alignment", ""))
    session = busy.call("run", str(tmp_path / "session.yaml"), "--json").json()["collab"]["collab_id"]
    refused = busy.call("export", session, "--format", "markdown")
    assert refused.code == 2
    assert "protocol: must be `alignment`: only alignment sessions can be written as Markdown" in refused.err
