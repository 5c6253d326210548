"""Answers to open questions, for the inbox and the page of a session."""

from __future__ import annotations

from pydantic import JsonValue

from ....client.aio.jobs import AsyncCollabJob
from ....models.errors import InvalidInput, ReplyRefused
from ....models.turns.waiting import Pending
from ..views.questions import find_question


async def answer_question(
    job: AsyncCollabJob, question_id: str, *, name: str, text: str, actor: str
) -> Pending:
    """Answer a question. The user's right replaces the reply token, which never leaves the server.

    Args:
        job: The session.
        question_id: Id of the question, from its row.
        name: Participant who answers.
        text: The answer.
        actor: User who sends the answer, recorded in the event.

    Returns:
        The answered question.

    Raises:
        ReplyRefused: The question was answered or replaced, or `name` is not asked.
        InvalidInput: The answer is not valid.
    """
    question = find_question(await job.pending(), question_id)
    if question is None:
        raise ReplyRefused(job.id, name, "unasked")
    await job.reply(name, text, token=question.reply_token, turn=question.turn_number, by=actor)
    return question


def read_text(body: dict[str, JsonValue], name: str) -> str:
    """Return a field of a request.

    Raises:
        InvalidInput: The field is missing, or is not text.
    """
    value = body.get(name)
    if not isinstance(value, str):
        raise InvalidInput(name, value, "must be text")
    return value
