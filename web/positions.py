"""Where the news of a run begin, in a session that other runs have followed before.

A run ends with a question. The run that answers it gets what was stored since then, not only since its answer.
"""

from __future__ import annotations

from ..client.aio.claims import read_claim, take_claim
from ..client.aio.jobs import AsyncCollabJob
from ..models.text.json_text import dump_json
from ..state.streams.updates import UpdateCursor
from .context import WebContext


async def start_of(context: WebContext, job: AsyncCollabJob, key: str) -> UpdateCursor:
    """Return where the news of a run begin: after the last question that was sent. A repeated run gets them again.

    Args:
        context: The context of the server.
        job: The session.
        key: Id of the run.
    """
    sent = await read_claim(context.client, _name(job)) or str(UpdateCursor())
    return UpdateCursor.read(await take_claim(context.client, _name(job, key), sent), field="position")


async def record_sent(context: WebContext, job: AsyncCollabJob, position: UpdateCursor) -> None:
    """Record that a run has ended with a question."""
    held = await read_claim(context.client, _name(job))
    await take_claim(context.client, _name(job), str(position), expected=held)


def _name(job: AsyncCollabJob, key: str = "") -> str:
    return dump_json(["position", job.id, key])
