"""The question at the end of an answer: how an agent asks a person in plain text.

    I have looked at the three tables.
    ASK ben: May I delete the oldest one?

From a line that begins so to the end of the text everything is the question; text before it is
said. It must name a participant of kind `human`; anything else is just text. Fenced code is not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from ..protocol.collab import ParticipantKind
from ..protocol.roster import find_participants
from .turn import DraftMessage, Question, TurnContext, TurnOutcome

_WORD = "ASK "
#: Decoration that people and models put around a directive or a name.
_AROUND = "*_`~-+>#• \t"
_MAX_QUESTION = 32_768
#: Lines of an answer that are looked at for whom they ask.
_MOST_ASKED = 1_000


def read_question(context: TurnContext, outcome: TurnOutcome) -> TurnOutcome | None:
    """Return the outcome with the question its text ends with; None: no question. People ask no questions this way."""
    if context.me.kind is ParticipantKind.HUMAN or not any(_WORD in it.content for it in outcome.messages):
        return None
    lines = "\n".join(message.content for message in outcome.messages).splitlines()
    for at in islice(_asking(lines), _MOST_ASKED):
        if question := _read_question_line(lines[at], islice(lines, at + 1, None), context):
            said = "\n".join(lines[:at]).strip()
            before = (DraftMessage(content=said, role=outcome.messages[0].role),) if said else ()
            return outcome.model_copy(update={"messages": before, "question": question})
    return None


def _asking(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines that begin as a question does."""
    fenced = False
    for at, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and line.strip(_AROUND).startswith(_WORD):
            yield at


def _read_question_line(line: str, following: Iterable[str], context: TurnContext) -> Question | None:
    name, colon, text = line.strip(_AROUND).removeprefix(_WORD).partition(":")
    if not colon:
        return None
    people = [p for p in context.roster if p.kind is ParticipantKind.HUMAN]
    ids = find_participants(name.strip(_AROUND + "@()[]"), people)
    if len(ids) != 1:
        return None
    # Once a text: of all its lines, only the one that asks is followed to the end.
    asked = "\n".join([text.strip(_AROUND), *following]).strip()
    return Question(to=ids[0], text=asked[:_MAX_QUESTION]) if asked else None
