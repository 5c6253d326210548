"""Questions to people in a terminal: their lines, and the answers of the person in front of `symposia run`."""

from __future__ import annotations

import os
import select
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from shlex import quote

from rich.console import Console
from rich.text import Text

from ...jobs.collab import CollabJob
from ...jobs.reading import heads_of, streams_of
from ...models.errors import InvalidInput, LifecycleError, SessionError
from ...models.protocol.collab import ParticipantKind
from ...models.protocol.dialog import Message
from ...models.sessions.submission import Submission
from ...models.text.redact import excerpt
from ...models.text.words import deadline_in_words
from ...models.turns.waiting import Pending
from ...state.redis.readers import read_stored
from ..common.dialog_lines import ParticipantNames, dialog_line, hanging
from ..common.options import actor_name
from ..common.screen import printable

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


def notice_line(question: Pending) -> Text:
    """Return the line about notices that were not sent to the people who are asked."""
    return Text(f"  notice failed: {printable(question.notice_failed)}", style="yellow")


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
        content = Text(printable(excerpt(message.content, _MESSAGE_CHARACTERS)))
        yield dialog_line(screen, message.turn_number, names.styled_speaker(message), content)


def reply_command(question: Pending, name: str | None = None) -> Text:
    """Return the command line that answers a question, by default in the name of the first addressee.

    Users copy it into a shell, so names are quoted. `--turn` prevents that a late answer reaches a later question; an
    agent may ask several questions in one turn, so its question is named by the token.
    """
    option = f"--turn {question.turn_number}" if question.is_own else f"--token {question.reply_token}"
    who = quote(name or question.asked[0])
    return Text(printable(f"  symposia reply {question.session_id[:8]} {who} TEXT {option}"), style="dim")


#: The person of a session without exactly one human participant.
_DEFAULT_NAME = "human"
_PIECE_BYTES = 65_536


class StandardInput:
    """Lines of standard input, without waiting for them.

    It reads the file descriptor: a text stream may hold lines that `select` does not see.
    """

    def __init__(self) -> None:
        self._buffer = b""
        try:
            self._fd, self.has_ended = sys.stdin.fileno(), False
        except (AttributeError, OSError):  # it is closed, or no file
            self._fd, self.has_ended = -1, True

    def take_line(self) -> str | None:
        """Return the next line; None: there is none yet, or never again."""
        while b"\n" not in self._buffer and not self.has_ended:
            if not self._is_readable():
                return None
            piece = os.read(self._fd, _PIECE_BYTES)
            self.has_ended = not piece
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace") if line or not self.has_ended else None

    def drop_typed(self) -> None:
        """Drop what was typed at a terminal before: it cannot be an answer to a question that was not shown yet."""
        if os.isatty(self._fd):
            self._buffer = b""
            with suppress(termios.error):
                termios.tcflush(self._fd, termios.TCIFLUSH)

    def _is_readable(self) -> bool:
        with suppress(OSError):  # it is no terminal, or not that of this process
            if os.tcgetpgrp(self._fd) != os.getpgrp():
                return False  # the kernel stops a job in the background that reads from its terminal
        return bool(select.select([self._fd], [], [], 0)[0])


class PersonAtTerminal:
    """Asks a person the open questions to them, one after the other, and sends their answers.

    Args:
        job: The session.
        name: The person.
        screen: Console for the questions.
    """

    def __init__(self, job: CollabJob, name: str, screen: Console) -> None:
        self._job, self._name, self._screen = job, name, screen
        self._input = StandardInput()
        self._question: Pending | None = None

    @property
    def is_asked(self) -> bool:
        """Whether a question waits for the person."""
        return self._question is not None

    def look_for_question(self) -> bool:
        """Look for the first open question to the person, and return whether it was not shown yet."""
        if self._input.has_ended:
            return False
        shown = self._question
        self._question = next(
            (question for question in self._job.pending() if self._name in question.asked), None
        )
        tokens = [question.reply_token for question in (shown, self._question) if question is not None]
        return self._question is not None and len(set(tokens)) == len(tokens)

    def show_question(self) -> None:
        """Print the question, and how to answer it."""
        if self._question is None:
            return
        self._input.drop_typed()
        for line in (question_heading(self._question), *question_lines(self._screen, self._question)):
            self._screen.print(line)
        self._print(
            f"Type the answer of {self._name} in one line (PASS skips; Ctrl-C leaves the session running):"
        )

    def send_answer(self) -> None:
        """Send the next line of standard input, if there is one, as the answer."""
        while self._question is not None and (line := self._input.take_line()) is not None:
            if line.strip():
                self._reply(self._question, line.strip())
        if self._question is not None and self._input.has_ended:
            self._print("Standard input has ended. To answer:")
            self._screen.print(reply_command(self._question, self._name), soft_wrap=True)
            self._question = None

    def _reply(self, question: Pending, text: str) -> None:
        try:
            self._job.reply(self._name, text, token=question.reply_token, by=actor_name(None))
        except InvalidInput as error:
            self._print(f"{error}. Type another answer:")
            return
        except (LifecycleError, SessionError) as error:
            self._print(str(error))
        self._question = None

    def _print(self, text: str) -> None:
        self._screen.print(Text(printable(text), style="yellow"), soft_wrap=True)


def person_to_ask(submission: Submission, name: str | None) -> str:
    """Return the person who is asked in the terminal: `name`, or the only human participant, or `human`.

    Raises:
        InvalidInput: The session has no person of this name.
    """
    roster = submission.collab.participants
    humans = [
        participant.participant_id for participant in roster if participant.kind is ParticipantKind.HUMAN
    ]
    if name is None:
        return humans[0] if len(humans) == 1 else _DEFAULT_NAME
    people = [
        *(participant.participant_id for participant in roster),
        *submission.approvers,
        *submission.observers,
    ]
    if name not in people:
        rule = f"must be a participant, an approver or an observer: {', '.join(people)}"
        raise InvalidInput("--as", name, rule)
    return name
