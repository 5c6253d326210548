"""Flower's list of tasks with session, mode, participant and turn of each task, without housekeeping tasks.

Flower reads its columns from a dictionary and its data from a handler. Both are extended; a list of columns
that the operator chose stays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from flower.options import default_options
from flower.views.tasks import TASK_COLUMNS, TasksDataTable, TasksView

from ...reviews.batches.context import DELIVER
from ...schedules.store import SCHEDULE_RUN_TASK
from ...tasks.runtime.graph import ADVANCE

#: Columns that Flower does not have.
COLUMNS = {"session": "Session", "mode": "Mode", "participant": "Participant", "turn": "Turn"}
#: Columns that are shown unless the operator chooses others.
SHOWN = "name,uuid,state,session,mode,participant,turn,result,received,runtime,worker"
#: Celery tasks that run no turn: planning, schedules, deliveries of reports. The list shows them on request.
HOUSEKEEPING = frozenset({ADVANCE, SCHEDULE_RUN_TASK, DELIVER})
#: Parameter of the URL with which the list shows them.
SWITCH = "housekeeping"
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
    # Celery reports a task as sent after a fast worker has received it.
    times = [task[name] for name in ("sent", "received") if task.get(name)]
    return {
        **task,
        **({"sent": min(times)} if task.get("sent") else {}),
        "session": session[:_SHORT_ID],
        "session_id": session,
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

    application: Any

    def format_task(self, task: tuple[str, Any]) -> tuple[str, _Row]:
        """As in Flower, with further fields."""
        task_id, formatted = super().format_task(task)
        return task_id, _Row(formatted)

    def get(self) -> None:
        """As in Flower, without housekeeping tasks unless the page or its search asks for them."""
        search = self.get_argument("search[value]", "", escape=False)
        if not self.get_argument(SWITCH, "") and not any(name in search for name in HOUSEKEEPING):
            self.application = _WithoutTasks(self.application, HOUSEKEEPING)
        super().get()


class _WithoutTasks:
    """Flower's application, in whose list of tasks those of some names are missing."""

    def __init__(self, application: Any, names: frozenset[str]) -> None:
        self._application = application
        state = application.events.state
        tasks, postings = (
            getattr(state.tasks, "data", state.tasks),
            state.search_engine.exact_postings["name"],
        )
        hidden = set().union(*(postings.get(name, ()) for name in names))
        shown = {task_id: task for task_id, task in list(tasks.items()) if task_id not in hidden}
        self.events = SimpleNamespace(state=SimpleNamespace(tasks=shown, search_engine=state.search_engine))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._application, name)


class TaskListPage(TasksView):  # type: ignore[misc] # Flower has no types
    """Flower's page with links to sessions, and a switch for housekeeping tasks."""

    def render(self, template_name: str, **values: Any) -> None:
        """Render the list; other pages, such as that of an error, are Flower's own."""
        if template_name != "tasks.html":
            super().render(template_name, **values)
            return
        shown = bool(self.get_argument(SWITCH, ""))
        others = [(name, value) for name, value in parse_qsl(self.request.query) if name != SWITCH]
        query = urlencode(others if shown else [*others, (SWITCH, "1")])
        super().render("session_tasks.html", housekeeping=shown, switch_query=query, **values)
