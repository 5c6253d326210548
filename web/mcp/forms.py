"""Questions to people as forms of the client (elicitation). Pure.

Clients of the protocol until 2025-11-25 get a request of the server. Those of 2026-07-28 get the form as the answer to
their call, and send the call again with what the person entered; `request_state` names the question. It comes back
from the client, so it grants nothing: the session is looked up for the caller as in any other call.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from mcp import types

from ...models.errors import InvalidInput
from ...models.turns.waiting import Pending

_ANSWER = "answer"
#: Key of the only form of a result.
FORM = "question"
#: Maximum characters of the state that a client sends back.
_MAX_STATE = 1_000


class FormState(NamedTuple):
    """Which question the form of a call shows."""

    session_id: str
    #: Id of the question: see `jobs/questions.py`.
    question_id: str

    def encode(self) -> str:
        """Return it as text for the client."""
        return json.dumps(self)

    @classmethod
    def decode(cls, text: str) -> FormState:
        """Read what a client sent.

        Raises:
            InvalidInput: It is not the state of a form.
        """
        try:
            data = json.loads(text) if len(text) <= _MAX_STATE else None
        except (ValueError, RecursionError):
            data = None
        if (
            not isinstance(data, list)
            or len(data) != len(cls._fields)
            or not all(isinstance(v, str) for v in data)
        ):
            raise InvalidInput(
                "requestState", text[:50], "must be the state that the server sent with the form"
            )
        return cls(*data)


def form_of(question: Pending) -> types.ElicitRequestFormParams:
    """Return the form of a question: a text, or one of its choices."""
    field: dict[str, Any] = {"type": "string", "title": "Answer", "minLength": 1}
    if question.question.choices:
        field = {"type": "string", "title": "Answer", "enum": list(question.question.choices)}
    return types.ElicitRequestFormParams(
        message=describe_question(question),
        requested_schema={"type": "object", "properties": {_ANSWER: field}, "required": [_ANSWER]},
    )


def describe_question(question: Pending) -> str:
    """Return who is asked what, in a line."""
    asked = ", ".join(question.asked)
    text = question.question.text or f"It is the turn of {question.participant}."
    return f"{asked} is asked in {question.title!r}, turn {question.turn_number}: {text}"


def read_answer(result: types.ElicitResult | None) -> str | None:
    """Return the text that a person entered; None: the form was closed without an answer."""
    if result is None or result.action != "accept":
        return None
    answer = (result.content or {}).get(_ANSWER)
    return answer if isinstance(answer, str) and answer.strip() else None


def shows_forms(capabilities: types.ClientCapabilities | None) -> bool:
    """Return whether a client has declared forms. Before 2025-11-25 an empty capability means forms."""
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)
