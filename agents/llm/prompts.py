"""Prompts of a language model for its turn: text built from the turn's context. Pure.

The system prompt contains the model's name, the other participants, the purpose, and the forms of an
answer. Then follows the dialog: the model's own messages as the assistant, all others as the user, with
the speaker's name in front. The request of this turn comes last, with the known facts about the user.

A model that is too small for this gets the plain form: its name, the dialog, one question.

The forms for decisions, reviews and work items are the directives of `models.directives`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...models.memory.parameters import to_compact_json
from ...models.modes import mode_of
from ...models.prompts.memory import memory_facts, memory_form
from ...models.protocol.collab import Participant
from ...models.protocol.dialog import Message
from ...models.text.json_text import dump_json
from ...models.turns.items import ItemResult
from ...models.turns.turn import Expects, GivenAnswer, TurnContext

_DECISION_FORM = """\
Decide who speaks next. Answer with lines of this form and nothing else:
NEXT: name, or several names in order
INSTRUCTION: what they should do
(TOGETHER: name, name lets them speak side by side; STALLED: reason says that nothing moves.)
When the purpose is reached, answer instead:
DONE: reason"""

_DECISION = """\
Decide who speaks next and what they should do, or that the purpose is reached."""

_REVIEW_FORM = """\
Review what your partner did. If it is good, begin a line with APPROVED: and say why. \
If not, say what to fix."""

_REVIEW = """\
Review what your partner did: approve it, or say what to fix."""

_BOARD_FORM = """\
Besides your result you may add lines of this form:
ITEM: new work for the board
HAND OFF: name of the participant who should continue with this item"""

_OUTPUT = "Give the result as structured output."

_OUTPUT_FORM = """\
Answer with one JSON value and nothing else. It must be valid under this JSON schema:
{schema}"""

_OR_NOTHING = "If you have nothing to add, answer only PASS."


def system_prompt(turn: TurnContext, instructions: str, *, structured: bool) -> str:
    """Return the system prompt; the agent's own instructions come first."""
    others = ", ".join(_name_with_role(p) for p in turn.roster if p.participant_id != turn.me.participant_id)
    parts = [
        instructions.strip(),
        f"You are {_name_with_role(turn.me)}" + (f", working with {others}." if others else "."),
        f"Purpose: {turn.purpose}",
        turn.mode_prompt,
        _form(turn, structured=structured),
        _asking_instructions(turn),
        memory_form(turn.memory),
    ]
    return "\n".join(part for part in parts if part)


def turn_prompt(turn: TurnContext) -> str:
    """Return the request of this turn, which is the last part of the prompt."""
    asked = [turn.instruction.strip()]
    asked += item_lines(turn)
    asked = [part for part in asked if part]
    if not asked and not turn.messages:
        asked.append(opening_prompt(turn))
    answers = [_format_answer(answer, turn.roster) for answer in turn.answers]
    return "\n".join([*memory_facts(turn.memory), *answers, *asked, f"Your turn, {name_of(turn.me)}."])


def _format_answer(answer: GivenAnswer, roster: Sequence[Participant]) -> str:
    """Return an earlier question of the model to a person, with the answer."""
    name = next((name_of(p) for p in roster if p.participant_id == answer.question.to), answer.question.to)
    reaction = (
        "has not answered; continue without an answer" if answer.text is None else f"answers: {answer.text}"
    )
    return f"You asked {name}: {answer.question.text}\n{name} {reaction}"


def _asking_instructions(turn: TurnContext) -> str:
    """Return how to ask a person; empty if no person takes part."""
    people = [name_of(p) for p in turn.people if p.participant_id != turn.me.participant_id]
    if not people:
        return ""
    return (
        f"If you need an answer from a person ({', '.join(people)}) before you can continue, end with "
        f"ASK {people[0]}: your question"
    )


def plain_system_prompt(turn: TurnContext, instructions: str) -> str:
    """Return the short system prompt for a small model."""
    who = f"You are {name_of(turn.me)}."
    return f"{who} {instructions.strip() or 'Answer in one or two short sentences.'}"


def plain_prompt(turn: TurnContext, messages: Sequence[Message], *, before: Sequence[str] = ()) -> str:
    """Return the dialog, after other lines, and the question in one prompt: a small model answers what comes last."""
    dialog_lines = [*before, *(attribute_message(message, turn.roster) for message in messages)]
    asked = turn.instruction.strip() or turn.purpose
    lines = item_lines(turn, label="") if turn.item else [asked, *item_lines(turn)]
    return "\n".join([*dialog_lines, "", *lines, output_request(turn)]).strip()


def item_lines(turn: TurnContext, *, label: str = "Your work item: ") -> list[str]:
    """Return the results that the turn builds on, and its work item with its data."""
    lines = [_format_item_result(result) for result in turn.item_results]
    if lines:
        lines.insert(0, "Results of the items before:")
    if turn.item is not None:
        lines.append(f"{label}{turn.item.text}")
        if turn.item.data is not None:
            lines.append(f"Data of the item: {to_compact_json(turn.item.data)}")
    return lines


def _format_item_result(result: ItemResult) -> str:
    by = f", {result.participant}" if result.participant else ""
    parts = [result.text or result.reason or "no message"]
    if result.output is not None and to_compact_json(result.output) != result.text:
        parts.append(f"(data: {to_compact_json(result.output)})")
    cut = " …" if result.is_cut else ""
    return f"- {result.item_id} ({result.status}{by}): {' '.join(parts)}{cut}"


def opening_prompt(turn: TurnContext) -> str:
    """Return the prompt for a dialog without messages."""
    return f"Begin: {turn.purpose}"


def attribute_message(message: Message, roster: Sequence[Participant]) -> str:
    """Return a message with its speaker's name in front; `(earlier)` marks one from another dialog."""
    author = message.author
    if author is None:
        return message.content
    name = next((name_of(p) for p in roster if p.participant_id == author), author)
    return f"{name}{'' if message.speaker else ' (earlier)'}: {message.content}"


def without_own_name(text: str, me: Participant) -> str:
    """Return an answer without the `name: ` that models copy from the dialog."""
    plain = text.strip()
    for name in (name_of(me), me.participant_id):
        if plain.lower().startswith(f"{name.lower()}:"):
            return plain[len(name) + 1 :].strip()
    return plain


def name_of(participant: Participant) -> str:
    """Return the name of a participant in prompts."""
    return participant.display_name or participant.participant_id


def _name_with_role(participant: Participant) -> str:
    name, role = name_of(participant), participant.role_id
    return name if role is None or role.lower() == name.lower() else f"{name} ({role})"


def output_request(turn: TurnContext) -> str:
    """Return how to write the output of the session as text; empty if the turn needs no output."""
    return "" if turn.output_schema is None else _OUTPUT_FORM.format(schema=dump_json(turn.output_schema))


def _form(turn: TurnContext, *, structured: bool) -> str:
    if turn.output_schema is not None:
        return _OUTPUT if structured else output_request(turn)
    match turn.expects:
        case Expects.DECISION:
            return _DECISION if structured else _DECISION_FORM
        case Expects.REVIEW:
            return _REVIEW if structured else _REVIEW_FORM
        case Expects.MESSAGE:
            return _BOARD_FORM if mode_of(turn.mode).has_board else _OR_NOTHING
