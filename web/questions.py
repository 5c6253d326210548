"""Open questions to people, as the routes of all protocols read them. Turns of remote systems are no questions."""

from __future__ import annotations

from ..client.aio.jobs import AsyncCollabJob, blocking_job
from ..jobs.questions import ASKING, questions_to_people
from ..models.identity import Caller
from ..models.turns.streaming import Delta
from ..models.turns.waiting import Pending
from ..state.streams.updates import StoredUpdate
from .context import WebContext


async def open_questions(context: WebContext, job: AsyncCollabJob) -> tuple[Pending, ...]:
    """Return the open questions of a session to people, by turn number.

    Raises:
        SessionNotFound: The session has expired.
        RedisUnavailable: Redis does not answer.
    """
    return await context.client.run(questions_to_people, blocking_job(job))


def is_asking(update: StoredUpdate | Delta) -> bool:
    """Return whether an update records that a question was asked."""
    if isinstance(update, Delta) or update.stream != "journal":
        return False
    return any(f'"{name}"' in update.text for name in ASKING)


def person_of(caller: Caller, question: Pending) -> str:
    """Return in whose name a caller answers: its own, if it was asked, or else that of the first person."""
    return caller.name if caller.name in question.asked else question.asked[0]
