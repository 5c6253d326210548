"""Routes of open questions to people, and their answers."""

from __future__ import annotations

from pydantic import Field

from ...jobs.questions import find_question
from ...models.errors import InvalidInput, ReplyRefused
from ...models.turns.waiting import Pending, Verdict
from ..answers import Answer, QuestionData
from ..context import ContextDep, Reader, Replier, open_job
from ..questions import open_questions
from ..routing import api_router
from ..submissions import Body

router = api_router("questions")


class ReplyBody(Body):
    """An answer: `text`, or `approve` for an approval."""

    #: Participant id of the person who was asked.
    as_: str = Field(alias="as", max_length=200)
    text: str | None = None
    approve: bool | None = None
    #: Id of the question: an answer to another question of the turn is refused.
    question: str | None = None

    def answer(self) -> str:
        """Return the text of the answer.

        Raises:
            InvalidInput: Neither, or both, are given.
        """
        if (self.text is None) == (self.approve is None):
            raise InvalidInput("text", self.text, "must be set, or `approve`, and not both")
        if self.text is not None:
            return self.text
        return (Verdict.APPROVE if self.approve else Verdict.REFUSE).value


class Replied(Answer):
    """The answer was taken."""

    session_id: str
    turn_id: int


@router.get("/sessions/{session_id}/questions")
async def get_questions(session_id: str, context: ContextDep, caller: Reader) -> list[QuestionData]:
    """Return the open questions of a session, by turn."""
    job = await open_job(context, caller, session_id)
    return [QuestionData.of(question) for question in await open_questions(context, job)]


@router.post("/sessions/{session_id}/questions/{turn_id}/reply")
async def reply(
    session_id: str, turn_id: int, body: ReplyBody, context: ContextDep, caller: Replier
) -> Replied:
    """Answer the open question of a turn."""
    text = body.answer()
    job = await open_job(context, caller, session_id)
    token = None
    if body.question is not None:
        token = _token(await open_questions(context, job), body.question, session_id, body.as_)
    await job.reply(body.as_, text, turn=turn_id, token=token, by=caller.name)
    return Replied(session_id=session_id, turn_id=turn_id)


def _token(pending: tuple[Pending, ...], question: str, session_id: str, name: str) -> str:
    found = find_question(pending, question)
    if found is None:
        raise ReplyRefused(session_id, name, "foreign")
    return found.reply_token
