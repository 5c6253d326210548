"""`symposia demo`."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from .options import AsJson, Mode

if TYPE_CHECKING:
    from rich.console import Console

    from ...job import JobResult
    from ...models.submission import Submission


class Players(StrEnum):
    """Who speaks in the demo."""

    LOCAL = "local"
    SCRIPTED = "scripted"


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(demo)


def demo(
    mode: Annotated[Mode | None, typer.Option(help="Only this mode; otherwise all five.")] = None,
    agents: Annotated[
        Players, typer.Option(help="A small local model, or prepared replies.")
    ] = Players.LOCAL,
    as_json: AsJson = False,
) -> None:
    """Run a session in each of the five modes, and show who says what.

    Needs nothing: a server, two Celery workers and the local model are started for it, and
    are gone when it ends.

    Example: [bold]symposia demo --mode pair --agents scripted[/bold]
    """
    from ...models.collab import CollabMode
    from ..demo_sessions import demo_sessions
    from .render import result_json, summary_table
    from .screen import console, print_json

    if agents is Players.LOCAL:
        _require_local_model()
    sessions = demo_sessions(agents.value, CollabMode(mode) if mode else None)
    screen = console(stderr=as_json)
    results = _run(sessions, screen, local_model=agents is Players.LOCAL)
    if as_json:
        print_json({"sessions": [result_json(result) for result in results]})
    else:
        screen.print()
        screen.print(summary_table(results))
    if not all(result.ok for result in results):
        raise typer.Exit(1)


def _require_local_model() -> None:
    """Before anything is started. Raises LocalModelError."""
    from ...agents.local_model import missing_part
    from ...models.errors import LocalModelError

    if (missing := missing_part()) is not None:
        raise LocalModelError(f"{missing}; or go without it: symposia demo --agents scripted")


def _run(sessions: list[Submission], screen: Console, *, local_model: bool) -> list[JobResult]:
    from ..demo import WORKERS, demo_stage
    from .live import follow
    from .render import ending, heading

    parts = f"a server, {WORKERS} workers" + (" and the local model" if local_model else "")
    results = []
    with ExitStack() as stack:
        with screen.status(f"starting {parts}"):
            client, crew = stack.enter_context(demo_stage(local_model=local_model, say=screen.print))
        screen.print(f"Started {parts}." + (" Host and Reviewer follow a script." if local_model else ""))
        for submission in sessions:
            job = client.submit_all(submission)
            screen.print()
            screen.print(heading(job.collab()))
            result = follow(job, screen, between=crew.tend)
            screen.print(ending(result))
            results.append(result)
    return results
