"""The question at the end of an answer: how an agent asks a person in plain text.

    I have looked at the three tables.
    ASK ben: May I delete the oldest one?

From a line that begins so to the end of the text everything is the question; what stands before it is
said. It must name a participant of kind `human`; anything else is just text. Fenced code is not read.
"""

from __future__ import annotations

from .collab import ParticipantKind
from .roster import named
from .turn import Draft, Question, TurnContext, TurnOutcome

_WORD = "ASK "
#: What people and models put around a directive, and around a name.
_AROUND = "*_`~-+>#• \t"
_MAX_QUESTION = 32_768


def read_question(context: TurnContext, outcome: TurnOutcome) -> TurnOutcome | None:
    """The outcome with the question its text ends with; None: it asks nobody. People ask nobody this way."""
    if context.me.kind is ParticipantKind.HUMAN or not any(_WORD in it.content for it in outcome.messages):
        return None
    lines = "\n".join(message.content for message in outcome.messages).splitlines()
    fenced = False
    for at, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and (question := _read(line, lines[at + 1 :], context)):
            said = "\n".join(lines[:at]).strip()
            before = (Draft(content=said, role=outcome.messages[0].role),) if said else ()
            return outcome.model_copy(update={"messages": before, "question": question})
    return None


def _read(line: str, following: list[str], context: TurnContext) -> Question | None:
    plain = line.strip(_AROUND)
    if not plain.startswith(_WORD):
        return None
    name, colon, text = plain.removeprefix(_WORD).partition(":")
    people = [p for p in context.roster if p.kind is ParticipantKind.HUMAN]
    ids = named(name.strip(_AROUND + "@()[]"), people)
    asked = "\n".join([text.strip(_AROUND), *following]).strip()
    if not colon or len(ids) != 1 or not asked:
        return None
    return Question(to=ids[0], text=asked[:_MAX_QUESTION])
