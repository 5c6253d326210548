"""The page of a Celery task that Flower does not know: it started after the task, and keeps nothing over a restart."""

from __future__ import annotations

from tornado.web import HTTPError

from ...client.aio.jobs import blocking_job
from ...models.errors import SessionNotFound
from ...models.text.ids import timestamp_from_ms
from ..views.past_task import PastTask, read_past_task
from ..views.visible import make_visible
from .base import PageHandler

_UNKNOWN = "Flower does not know this task: it started later. Open the task from the page of its session."


class PastTaskPage(PageHandler):
    """The page of a task, from the events of its session."""

    async def get(self, task_id: str) -> None:
        """Send the page; the argument `session` names the session, which the first task has as its id."""
        try:
            job = blocking_job(await self.services.client.get_job(self.query_text("session", task_id)))
        except SessionNotFound:
            raise HTTPError(404, reason=_UNKNOWN) from None
        task = await self.services.client.run(lambda: read_past_task(job, task_id))
        if task is None:
            raise HTTPError(404, reason=f"no event of session {job.id} names this task")
        self.render_page(
            "past_task.html",
            title=f"{task.name} {task_id[:8]}",
            tab="tasks",
            script="",
            task=task,
            rows=_rows(task),
        )


def _rows(task: PastTask) -> list[tuple[str, str]]:
    """Return the names and texts of the page; what is unknown is left out."""
    began, ended = task.milliseconds("began_ms"), task.milliseconds("ended_ms")
    rows = [
        ("Participant", make_visible(task.text("participant"))),
        ("Turn", task.text("turn")),
        ("Attempt", task.text("attempt")),
        ("Started", "" if began is None else timestamp_from_ms(began)),
        ("Ended", "" if ended is None else timestamp_from_ms(ended)),
        ("Runtime", "" if began is None or ended is None else f"{(ended - began) / 1000:.2f} s"),
        ("Result", make_visible(task.text("outcome"))),
        ("Error", make_visible(task.text("error"))),
        ("Planned turns", ", ".join(map(str, task.planned))),
    ]
    return [(name, text) for name, text in rows if text]
