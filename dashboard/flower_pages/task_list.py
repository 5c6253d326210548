"""Flower's tasks: the list with session, mode, participant and turn of each task, and the page with a link to its session.

Flower reads its columns from a dictionary and its data from a handler. Both are extended; a list of columns
that the operator chose stays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from flower.options import default_options
from flower.views.tasks import TASK_COLUMNS, TasksDataTable, TaskView

#: Columns that Flower does not have.
COLUMNS = {"session": "Session", "mode": "Mode", "participant": "Participant", "turn": "Turn"}
#: Columns that are shown unless the operator chooses others.
SHOWN = "name,uuid,state,session,mode,participant,turn,result,received,runtime,worker"
#: Characters of a session id that are shown, as on the command line.
_SHORT_ID = 8

#: Summary of the arguments of a Celery task; see `TurnCall` in `tasks/runtime/graph.py`.
_SUMMARY = re.compile(r"session=(\S+)(?: mode=(\S+) turn=(\d+) participant=(.+))?")
#: An exception in an event: its class and its message.
_EXCEPTION = re.compile(r"\w+\((?P<message>'.*'|\".*\")\)", re.DOTALL)


def add_columns() -> None:
    """Add the columns to Flower's list of tasks, and show them by default."""
    TASK_COLUMNS.update(COLUMNS)
    # The default only: the environment, the command line and a configuration file are read later or before.
    default_options._options["tasks-columns"].default = SHOWN  # noqa: SLF001 - Flower itself uses it, too


def describe_task(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a row of the list.

    Args:
        task: The task, as Celery's monitors describe it.

    Returns:
        Its data with the fields of `COLUMNS`, and a result without quotation marks: that of a failed task is
        the message of its exception.
    """
    match = _SUMMARY.fullmatch(str(task.get("kwargs") or ""))
    session, mode, turn, participant = match.groups() if match else ("", None, None, None)
    return {
        **task,
        "session": session[:_SHORT_ID],
        "mode": (mode or "").replace("_", " "),
        "participant": participant or "",
        "turn": turn or "",
        "result": _plain_result(task),
    }


def session_of(kwargs: object) -> str:
    """Return the session id in the summary of a task's arguments; empty: it is not a task of a session."""
    match = _SUMMARY.fullmatch(str(kwargs or ""))
    return match[1] if match else ""


def _plain_result(task: Mapping[str, Any]) -> str:
    text = str(task.get("result") or "")
    if not text and task.get("exception"):
        text = str(task["exception"])
        match = _EXCEPTION.fullmatch(text)
        text = match["message"] if match else text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, str) else text


class _Row:
    """A task whose data has the fields of `COLUMNS`."""

    def __init__(self, task: Any) -> None:
        self._task = task

    def as_dict(self) -> dict[str, Any]:
        return describe_task(self._task.as_dict())


class TaskRows(TasksDataTable):  # type: ignore[misc] # Flower has no types
    """The rows of the list of tasks."""

    def format_task(self, task: tuple[str, Any]) -> tuple[str, _Row]:
        """As in Flower, with further fields."""
        task_id, formatted = super().format_task(task)
        return task_id, _Row(formatted)


class TaskPage(TaskView):  # type: ignore[misc]  # Flower has no types
    """Flower's handler with another template, which extends Flower's."""

    def render(self, template_name: str, **values: Any) -> None:
        """Render the page of a task; other pages, such as that of an error, are Flower's own."""
        if template_name == "task.html":
            session_id = session_of(values["task"].kwargs)
            super().render("session_task.html", session_id=session_id, **values)
        else:
            super().render(template_name, **values)
