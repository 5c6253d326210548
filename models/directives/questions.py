"""The question with which a text ends: `ASK name: text`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from ..protocol.collab import ParticipantKind, find_participants
from ..turns.turn import Question, TurnContext, TurnOutcome

_WORD = "ASK "
#: Decoration that people and models put around a directive or a name.
_AROUND = "*_`~-+>#• \t"
_MAX_QUESTION = 32_768
#: Maximum number of lines of an answer that are examined for a question.
_MAX_QUESTION_LINES = 1_000


def read_question(context: TurnContext, outcome: TurnOutcome) -> TurnOutcome | None:
    """Return the outcome with the question its text ends with; None: no question. People ask no questions this way."""
    if context.me.kind is ParticipantKind.HUMAN or not any(
        _WORD in message.content for message in outcome.messages
    ):
        return None
    lines = "\n".join(message.content for message in outcome.messages).splitlines()
    for at in islice(_asking(lines), _MAX_QUESTION_LINES):
        if question := _read_question_line(lines[at], islice(lines, at + 1, None), context):
            text_before = "\n".join(lines[:at]).strip()
            files = tuple(attachment for message in outcome.messages for attachment in message.attachments)
            draft = outcome.messages[0].model_copy(update={"content": text_before, "attachments": files})
            before = (draft,) if text_before else ()
            return outcome.model_copy(update={"messages": before, "question": question})
    return None


def _asking(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indices of the lines that begin like a question."""
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
    ids = find_participants(name.strip(_AROUND + "@()[]"), context.people)
    if len(ids) != 1:
        return None
    # At most once per text: only the line with the question is read to the end of the text.
    question_text = "\n".join([text.strip(_AROUND), *following]).strip()
    return Question(to=ids[0], text=question_text[:_MAX_QUESTION]) if question_text else None
