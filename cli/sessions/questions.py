"""Open questions to people as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from rich.console import Console
from rich.text import Text

from ...jobs.collab import CollabJob
from ...jobs.reading import heads_of, streams_of
from ...models.protocol.dialog import Message
from ...models.text.redact import excerpt
from ...models.text.words import deadline_in_words
from ...models.turns.waiting import Pending
from ...state.redis.readers import read_stored
from ..common.screen import ParticipantNames, dialog_line, hanging, printable

#: Messages that are shown before a question, and characters of each.
_LAST_MESSAGES = 3
_MESSAGE_CHARACTERS = 500


def question_heading(question: Pending) -> Text:
    """Return the line that names who is asked, where, and until when."""
    until = "" if question.until is None else f", {deadline_in_words(question.until)}"
    whose = "" if question.is_own else f", by {question.participant}"
    return Text.assemble(
        (printable(", ".join(question.asked)), "bold"),
        f" is asked in turn {question.turn_number} of session {question.session_id[:8]}",
        printable(f" ({question.title}{whose}){until}"),
    )


def question_lines(screen: Console, question: Pending) -> Iterator[Text]:
    """Yield the text of a question and its choices; nothing for a turn whose agent asks nothing in particular."""
    if question.question.text:
        yield hanging(screen, Text("  "), Text(printable(question.question.text)))
    if question.question.choices:
        choices = Text(printable(", ".join(question.question.choices)))
        yield hanging(screen, Text("  one of: "), choices)


def last_message_lines(job: CollabJob, screen: Console) -> Iterator[Text]:
    """Yield the last messages of a session, each cut to a few lines."""
    names = ParticipantNames(heads_of(job)[0].participants)
    entries = streams_of(job).newest_page(job.id, "dialog", count=_LAST_MESSAGES)
    for _, text in reversed(entries):
        message = read_stored(Message, text, session_id=job.id, part="dialog")
        words = Text(printable(excerpt(message.content, _MESSAGE_CHARACTERS)))
        yield dialog_line(screen, message.turn_number, names.styled_speaker(message), words)


def reply_command(question: Pending, name: str | None = None) -> Text:
    """Return the command line that answers a question, by default in the name of the first addressee.

    Users copy it into a shell, so names are quoted. `--turn` prevents that a late answer reaches a later question; an
    agent may ask several questions in one turn, so its question is named by the token.
    """
    option = f"--turn {question.turn_number}" if question.is_own else f"--token {question.reply_token}"
    who = quote(name or question.asked[0])
    return Text(printable(f"  symposia reply {question.session_id[:8]} {who} TEXT {option}"), style="dim")
