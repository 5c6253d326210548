"""Validation of an agent's answer: a turn outcome, not empty, within the size limit."""

from __future__ import annotations

from pydantic import ValidationError

from ...models.errors import BadOutcome, invalid_input
from ...models.text.redact import redact_value
from ...models.turns.turn import TurnOutcome

#: Default maximum bytes of UTF-8 of one message.
MAX_MESSAGE_BYTES = 1_048_576


def check_outcome(outcome: object, *, max_message_bytes: int = MAX_MESSAGE_BYTES) -> TurnOutcome:
    """Return the outcome if it may be written. Raises BadOutcome with field, rule and value."""
    if not isinstance(outcome, TurnOutcome):
        raise bad_outcome("outcome", "must be a TurnOutcome", outcome)
    try:
        # `model_copy` and `model_construct` check nothing, and a lone surrogate cannot be written.
        outcome = TurnOutcome.model_validate_json(outcome.model_dump_json(warnings=False))
    except ValidationError as error:
        raise BadOutcome(str(invalid_input(error))) from None
    except ValueError:
        raise bad_outcome("outcome", "must be valid UTF-8 text", outcome) from None
    if outcome.question is not None and outcome.question.text:
        _check_content("question.text", outcome.question.text, max_message_bytes)
    for index, draft in enumerate(outcome.messages):
        _check_content(f"messages[{index}].content", draft.content, max_message_bytes)
    decides = outcome.decision or outcome.hand_off or outcome.items
    if not (outcome.messages or outcome.passed or decides or outcome.question):
        raise bad_outcome(
            "outcome", "must contain a message, decision, hand-off, item or question, or pass", outcome
        )
    return outcome


def _check_content(field: str, content: str, max_message_bytes: int) -> None:
    if not content or content.isspace():
        raise bad_outcome(field, "must not be blank", content)
    size = len(content) if content.isascii() else len(content.encode())
    if size > max_message_bytes:
        raise BadOutcome(f"{field}: must be at most {max_message_bytes} bytes (got {size} bytes)")


def bad_outcome(field: str, rule: str, value: object) -> BadOutcome:
    """Return the error for one field of an answer."""
    return BadOutcome(f"{field}: {rule} (got {redact_value(value)})")
