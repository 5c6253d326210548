"""Actions on one session: suspend, resume, stop, cancel, post a message, answer a question."""

from __future__ import annotations

from pydantic import JsonValue

from ....client.aio.jobs import AsyncCollabJob
from .answers import answer_question, read_text
from .base import ActionHandler

Body = dict[str, JsonValue]


class SessionAction(ActionHandler):
    """Handler of an action on a session."""

    async def act(self, body: Body, *parts: str) -> object:
        """Perform the action named in the URL; return the status after it."""
        session_id, name = parts
        job = await self.services.client.get_job(session_id)
        match name:
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
            case _:
                question, answerer, text = (read_text(body, it) for it in ("question", "name", "text"))
                await answer_question(job, question, name=answerer, text=text, actor=self.actor)
        return {"status": (await job.status()).value}

    async def _post(self, job: AsyncCollabJob, body: Body) -> None:
        key = _optional_text(body, "key")
        role = _optional_text(body, "role") or "user"
        await job.post(read_text(body, "text"), role=role, by=self.actor, key=key)


def _optional_text(body: Body, name: str) -> str | None:
    return read_text(body, name) if body.get(name) is not None else None


#: Names of the actions, for the route.
ACTIONS = ("suspend", "resume", "stop", "cancel", "post", "reply")
