"""Short prompts for small models: the task, the dialog and one question, without tags. Pure.

Every line of a message is indented, and names are not, so no text can look like a new speaker.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..modes import mode_of
from ..modes.texts.common import indented, label, lines, name
from ..protocol.dialog import Message, Role, message_digest
from ..text.json_text import dump_json
from ..turns.turn import TurnContext
from .layout import is_own
from .memory import memory_facts
from .recalled import recalled_lines

_INDENT = "  "
_OUTPUT_FORM = (
    "Answer with one JSON value and nothing else. It must be valid under this JSON schema: {schema}"
)


def plain_system_prompt(turn: TurnContext, instructions: str) -> str:
    """Return the system prompt for a small model."""
    role = turn.me.role_id
    called = {turn.me.participant_id.casefold(), (turn.me.display_name or "").casefold()}
    does = f", {name(role)}" if role and role.casefold() not in called else ""
    return (
        f"You are {label(turn.me)}{does}. {instructions.strip() or 'Answer in one to three short sentences.'}"
    )


def plain_prompt(turn: TurnContext, messages: Sequence[Message], *, before: Sequence[str] = ()) -> str:
    """Return the task, the dialog and the question in one prompt.

    Args:
        turn: The turn.
        messages: The messages to show; those of the opening are part of the task.
        before: Lines in place of messages that are left out.
    """
    opening = [message.content.strip() for message in turn.opening]
    task = "\n".join([turn.purpose.strip(), *opening]).strip()
    in_task = {message_digest(message) for message in turn.opening}
    shown = [
        *before,
        *(_said(message, turn) for message in messages if message_digest(message) not in in_task),
    ]
    question = lines(
        *memory_facts(turn.memory),
        *recalled_lines(turn),
        *(_answered(turn)),
        mode_of(turn.mode).texts.question(turn),
        _output_request(turn),
        *(
            f"That cannot be used: {' '.join(correction.fault.split())}"
            for correction in turn.corrections[-1:]
        ),
    )
    return "\n\n".join(filter(None, (f"Task: {indented(task)}", "\n".join(shown), question)))


def _said(message: Message, turn: TurnContext) -> str:
    author = message.author
    if is_own(message, turn):
        who = "You"
    elif author is None:
        who = {Role.USER: "The user", Role.SYSTEM: "The program"}.get(message.role, "An assistant")
    else:
        who = next((label(p) for p in turn.roster if p.participant_id == author), name(author))
    return f"{who} said:\n{_INDENT}{indented(message.content.strip())}"


def _answered(turn: TurnContext) -> list[str]:
    return [
        f"You asked {name(answer.question.to)}: {' '.join(answer.question.text.split())}\n"
        f"{_INDENT}{indented(answer.text or 'no answer')}"
        for answer in turn.answers
    ]


def _output_request(turn: TurnContext) -> str:
    return "" if turn.output_schema is None else _OUTPUT_FORM.format(schema=dump_json(turn.output_schema))
