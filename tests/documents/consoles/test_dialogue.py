"""The console lines of docs/dialogue.md."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from documents.installation import Installation
from documents.lines import ROOT
from documents.walk import Walk
from processes.terminal import Terminal

SESSION = """
title: Files or tables
purpose: Agree on what is the source.
mode: round_robin
protocol: alignment
stop: {max_rounds: 1}
participants:
  - {participant_id: ann, agent: echo}
  - {participant_id: bob, agent: echo}
"""


@pytest.mark.long
@pytest.mark.timeout(240)
def test_documents(shared: Installation) -> None:
    shutil.copy(ROOT / "examples/decision.dialogue.md", shared.folder)
    (shared.folder / "alignment.yaml").write_text(SESSION)
    session = shared.complete(shared.submit("alignment.yaml"))
    seen: list[str] = []
    Walk(shared.terminal, values={" ID ": f" {session} "}, after={"symposia": seen.append}).follow(
        "dialogue.md", "Alignment documents"
    )
    assert "# Files or tables" in seen[-1]


def test_checking(tmp_path: Path) -> None:
    """The 34th line of the document has a heading in another spelling."""
    lines = [
        "# Doors",
        "",
        "**Participants**: Muffin 🧁",
        *[""] * 30,
        "## Round 1 (Deep dive)",
        "",
        "### Muffin 🧁",
        "",
        "Blue.",
    ]
    (tmp_path / "decision.dialogue.md").write_text("\n".join(lines) + "\n")
    Walk(Terminal(tmp_path, {})).follow("dialogue.md", "Checking")
