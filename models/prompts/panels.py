"""Texts on a session that a model calls as a tool: description, task, and result. Pure."""

from __future__ import annotations

from ..modes.texts.common import indented
from ..text.tags import clean_line, escape_tags, write_tag
from ..turns.message_lists import estimate_tokens
from ..turns.turn import GivenAnswer

#: Maximum tokens of a result with all its answers; above, the answers are shortened.
MAX_TOKENS = 2_000
#: Characters of an answer that is shortened.
_SHORT = 400

FROM_A_PARTICIPANT = "A participant of another session asks you this; your result goes back to it."


def describe_panel(title: str, purpose: str, participants: str) -> str:
    """Return the description of the tool.

    Args:
        title: Title of the session.
        purpose: Its purpose.
        participants: Names of its participants with their roles.
    """
    what = f"{title.strip()}. {purpose.strip()}".strip(". ")
    members = f" Participants: {participants}." if participants else ""
    return (
        f"Puts a question to a panel: {clean_line(what, 500)}.{members} They see nothing of this conversation: put all "
        "they need into question. Ask once, whole."
    )


def format_panel(name: str, given: GivenAnswer) -> str:
    """Return the result of a session: its last message, and the answers of all if no participant answered for all."""
    lines = [f"Result: {indented(escape_tags(given.text or ''))}"]
    answers = [answer for answer in given.answers if answer.text != given.text]
    if answers:
        texts = [answer.text for answer in answers]
        is_long = estimate_tokens("".join((given.text or "", *texts))) > MAX_TOKENS
        lines.append("Answers:")
        lines += [
            f"- {clean_line(answer.by, 60)}: {indented(escape_tags(_shortened(answer.text) if is_long else answer.text))}"
            for answer in answers
        ]
    return write_tag("panel", "\n".join(lines), {"name": name, "ended": given.ended})


def _shortened(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[:_SHORT].rstrip()} ..."
