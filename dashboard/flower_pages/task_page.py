"""Flower's page of a task: with a link to its session, and for a task that Flower does not know, the page from its events."""

from __future__ import annotations

from typing import Any

from flower.utils.tasks import get_task_by_id
from flower.views.tasks import TaskView
from tornado.web import RequestHandler

from ...models.text.ids import is_uuid
from .task_list import session_of


class TaskPage(TaskView):  # type: ignore[misc]  # Flower has no types
    """Flower's handler with another template, which extends Flower's."""

    _session_id = ""

    def get(self, task_id: str) -> None:
        """Send the page; a task of which Flower has not seen the beginning is read from the events of its session."""
        task = get_task_by_id(self.application.events, task_id)
        if (task is None or not task.name) and is_uuid(task_id):
            query = f"?{self.request.query}" if self.request.query else ""
            self.redirect(self.reverse_url("past_task", task_id) + query)
            return
        super().get(task_id)

    def render(self, template_name: str, **values: Any) -> None:
        """Render the page of a task; other pages, such as that of an error, are Flower's own."""
        if template_name == "task.html":
            values["task"] = in_order(values["task"])
            self._session_id = session_of(values["task"].kwargs)
            super().render("session_task.html", session_id=self._session_id, **values)
        else:
            super().render(template_name, **values)

    def reverse_url(self, name: str, *args: Any) -> str:
        """Return the URL of a page; that of another task names the session, in which it can be found."""
        address: str = RequestHandler.reverse_url(self, name, *args)
        return f"{address}?session={self._session_id}" if name == "task" and self._session_id else address


def in_order(task: Any) -> Any:
    """Return a task whose times are in order: Celery reports a task as sent after a fast worker has received it."""
    if not task.sent or not task.received:
        return task
    ordered = object.__new__(type(task))  # a copy would lose the tasks that this one has sent
    ordered.__dict__.update(task.__dict__)
    ordered.sent = min(task.sent, task.received)
    fields = [name for name in task._fields if name != "sent"]
    fields.insert(fields.index("received"), "sent")
    ordered._fields = tuple(fields)
    return ordered
