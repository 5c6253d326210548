"""Actions on one session: its status, messages, answers, and new sessions that begin with its messages; also of the inbox."""

from __future__ import annotations

from pydantic import JsonValue

from ...client.aio.jobs import AsyncCollabJob, blocking_job
from ...jobs.questions import find_question
from ...jobs.retrying import retry_session
from ...models.errors import InvalidInput, ReplyRefused
from ...models.turns.waiting import Pending
from .base import ActionHandler

Body = dict[str, JsonValue]

#: Names of the actions, for the route.
ACTIONS = ("activate", "suspend", "resume", "stop", "cancel", "post", "reply", "continue", "fork", "retry")


class SessionAction(ActionHandler):
    """Handler of an action on a session."""

    async def act(self, body: Body, *parts: str) -> object:
        """Perform the action named in the URL; return the status after it, or the `id` of the new session."""
        session_id, name = parts
        job = await self.services.client.get_job(session_id)
        match name:
            case "activate":
                await job.activate(by=self.actor)
            case "suspend":
                await job.suspend(by=self.actor)
            case "resume":
                await job.resume(by=self.actor)
            case "stop":
                await job.stop(by=self.actor)
            case "cancel":
                await job.cancel(_optional_text(body, "reason") or "cancelled", by=self.actor)
            case "post":
                await self._post(job, body)
            case "continue":
                return {"id": (await job.continue_with(read_text(body, "text"))).id}
            case "fork":
                return {"id": (await job.fork(at_turn=_turn(body), instruct=_instruct(body))).id}
            case "retry":
                return {"id": (await self.services.client.run(retry_session, blocking_job(job))).id}
            case _:
                question, answerer, text = (read_text(body, field) for field in ("question", "name", "text"))
                await answer_question(job, question, name=answerer, text=text, actor=self.actor)
        return {"status": (await job.status()).value}

    async def _post(self, job: AsyncCollabJob, body: Body) -> None:
        key = _optional_text(body, "key")
        role = _optional_text(body, "role") or "user"
        await job.post(read_text(body, "text"), role=role, by=self.actor, key=key)


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


def read_text(body: Body, name: str) -> str:
    """Return a field of a request.

    Raises:
        InvalidInput: The field is missing, or is not text.
    """
    value = body.get(name)
    if not isinstance(value, str):
        raise InvalidInput(name, value, "must be text")
    return value


def _turn(body: Body) -> int:
    turn = body.get("turn")
    if not isinstance(turn, int):
        raise InvalidInput("turn", turn, "must be the number of a turn")
    return turn


def _instruct(body: Body) -> dict[str, str] | None:
    """Return the instruction of a fork by the participant that it is for; None: it has none."""
    text = _optional_text(body, "text")
    return {read_text(body, "name"): text} if text else None


def _optional_text(body: Body, name: str) -> str | None:
    return read_text(body, name) if body.get(name) is not None else None
