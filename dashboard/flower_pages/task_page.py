"""Flower's page of a task with a link to the session of the task."""

from __future__ import annotations

from typing import Any

from flower.views.tasks import TaskView

from .task_list import session_of


class TaskPage(TaskView):  # type: ignore[misc]  # Flower has no types
    """Flower's handler with another template, which extends Flower's."""

    def render(self, template_name: str, **values: Any) -> None:
        """Render the page of a task; other pages, such as that of an error, are Flower's own."""
        if template_name == "task.html":
            session_id = session_of(values["task"].kwargs)
            super().render("session_task.html", session_id=session_id, **values)
        else:
            super().render(template_name, **values)
