"""Agents of the page to talk: one writes word by word, one asks and answers with a file, one reports."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from scaling import patient
from stub_agents.hostile import TEXT
from symposia import Attachment
from symposia.models.turns.turn import DraftMessage, TurnContext, TurnOutcome

WORDS = "Three lines:\n\n- Come in, the books are **awake**.\n- Silence, but never `loneliness`.\n- Read, and leave lighter."
REPORT = {
    "line": "Silence, but never loneliness.",
    "votes": [{"by": "writer", "points": 3}, {"by": "ben", "points": 5}],
}
#: A name of a file that must not become markup.
FILE = "line <b>.md"


def writer(turn: TurnContext) -> Iterator[str]:
    """Write the first half, and the rest once the gate file of the purpose is there."""
    half = WORDS.index("- Silence")
    yield WORDS[:half]
    gate = Path(str(turn.parameters["gates"])) / turn.title
    deadline = time.monotonic() + patient(40)
    while not gate.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    yield WORDS[half:]


def editor(turn: TurnContext) -> TurnOutcome:
    """Ask ben which line he wants, and for an approval, and answer with a file."""
    if not turn.answers:
        return TurnOutcome.ask("ben", "Which *line* do you want?", choices=("the first", "the second"))
    if len(turn.answers) == 1:
        return TurnOutcome.ask("ben", "May it be painted?", choices=("approve", "refuse"))
    answers = ", ".join(answer.text or "nothing" for answer in turn.answers)
    file = Attachment.of(FILE, b"# Silence\n")
    return TurnOutcome(messages=(DraftMessage(content=f"ben said {answers}", attachments=(file,)),))


def reporter(turn: TurnContext) -> dict[str, object] | str:
    """Give the output, if it is required."""
    return REPORT if turn.output_schema else "I count the votes."


def hostile(_turn: TurnContext) -> str:
    """Say a hostile text."""
    return TEXT
