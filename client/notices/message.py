"""Texts of notices: the e-mail, and the message to a chat."""

from __future__ import annotations

import json
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime
from html import escape
from shlex import quote

from ...models.text.ids import utcnow
from ...models.text.redact import excerpt
from ...models.text.words import deadline_in_words
from ...models.turns.waiting import Pending

#: Maximum characters of the question, and of a title in a heading.
_MAX_QUESTION, _MAX_TITLE = 2_000, 100


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice about a question to one person."""

    #: The same at every attempt.
    message_id: str
    #: `question`, `escalation`, or `reminder-1`, ...
    stage: str
    person: str
    pending: Pending
    #: Link that answers; empty: none is configured.
    link: str = ""

    @property
    def heading(self) -> str:
        """One line that says what it is about."""
        title = excerpt(" ".join(self.pending.title.split()), _MAX_TITLE)
        if self.stage == "question":
            return f"{title}: a question for {self.person}"
        if self.stage == "escalation":
            first = ", ".join(name for name in self.pending.asked if name != self.person)
            return f"{title}: {first} did not answer; a question for {self.person}"
        return f"Reminder: {title}: a question for {self.person}"

    @property
    def lines(self) -> list[str]:
        """The question, who asks, and until when."""
        pending = self.pending
        asks = "" if pending.is_own else f"{pending.participant} asks:\n"
        text = excerpt(pending.question.text, _MAX_QUESTION) or "It is your turn."
        lines = [f"{asks}{text}"]
        if pending.question.choices:
            lines.append(f"One of: {', '.join(pending.question.choices)}")
        if pending.until is not None:
            lines.append(f"Please answer {deadline_in_words(pending.until)}.")
        return lines

    @property
    def answer_line(self) -> str:
        """How to answer."""
        return f"Answer: {self.link or self._command()}"

    def _command(self) -> str:
        pending = self.pending
        option = f"--turn {pending.turn_number}"
        return f"symposia reply {pending.session_id} {quote(self.person)} TEXT {option}"


def build_mail(notice: Notice, *, sender: str, to: str) -> EmailMessage:
    """Return the e-mail, as plain text."""
    mail = EmailMessage()
    mail["Subject"] = "".join(character for character in notice.heading if character.isprintable())[:200]
    mail["From"] = sender
    mail["To"] = to
    mail["Date"] = format_datetime(utcnow())
    mail["Message-ID"] = f"<{notice.message_id}@{sender.rpartition('@')[2]}>"
    # Prevents automatic replies (RFC 3834).
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(
        "\n\n".join([*notice.lines, notice.answer_line, f"Session {notice.pending.session_id}"]) + "\n"
    )
    return mail


def chat_body(notice: Notice) -> bytes:
    """Return the message of an incoming webhook: a block of code, so that no text becomes a mention or a format."""
    shown = "\n".join((notice.heading, *notice.lines)).replace("`", "'")
    text = f"```\n{shown}\n```\n{notice.answer_line}"
    return json.dumps({"text": escape(text, quote=False), "unfurl_links": False}).encode()
