"""`symposia demo`."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import MODE_NAMES, AsJson, read_mode
from ..common.screen import console, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from ...jobs.result import JobResult
    from ...models.sessions.submission import Submission


class DemoAgents(StrEnum):
    """Agents of the demo."""

    LOCAL = "local"
    SCRIPTED = "scripted"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    mode: Annotated[
        str | None,
        typer.Option(
            parser=read_mode, metavar=MODE_NAMES, help="Run only this mode.", show_default="all modes"
        ),
    ] = None,
    agents: Annotated[
        DemoAgents,
        typer.Option(
            help="Agents that answer: local (a small model on this machine) or scripted (prepared replies)."
        ),
    ] = DemoAgents.LOCAL,
    as_json: AsJson = False,
) -> None:
    """Run a session in each of the five modes, and show the messages live.

    Requires no running service: the demo starts a server, two Celery workers and the local
    model, and stops them at the end.

    Example: [bold]symposia demo --mode pair --agents scripted[/bold]
    """
    from ...workers.local.demo import demo_sessions
    from ..sessions.render import result_json, summary_table

    if agents is DemoAgents.LOCAL:
        _require_local_model()
    sessions = demo_sessions(agents.value, mode)
    screen = console(stderr=as_json)
    results = _run(sessions, screen, local_model=agents is DemoAgents.LOCAL)
    if as_json:
        print_json({"sessions": [result_json(result) for result in results]})
    else:
        screen.print()
        screen.print(summary_table(results))
    if not all(result.ok for result in results):
        raise typer.Exit(1)


def _require_local_model() -> None:
    """Raise LocalModelError if a part of the local model is missing."""
    from ...agents.local_model.server import missing_part
    from ...models.errors import LocalModelError

    if (missing := missing_part()) is not None:
        raise LocalModelError(f"{missing}; or run without it: symposia demo --agents scripted")


def _run(sessions: list[Submission], screen: Console, *, local_model: bool) -> list[JobResult]:
    from ...client import installation_of
    from ...workers.local.demo import WORKERS, start_demo
    from ..sessions.live_render import follow
    from ..sessions.render import heading, result_line

    parts = f"a server, {WORKERS} workers" + (" and the local model" if local_model else "")
    results = []
    with ExitStack() as stack:
        with screen.status(f"starting {parts}"):
            client, local_runtime = stack.enter_context(start_demo(local_model=local_model, say=screen.print))
        screen.print(
            f"Started {parts}." + (" Host and Reviewer use prepared replies." if local_model else "")
        )
        for submission in sessions:
            job = installation_of(client).sessions.submit(submission)
            screen.print()
            screen.print(heading(job.collab()))
            result = follow(job, screen, between=local_runtime.check_services)
            screen.print(result_line(result))
            results.append(result)
    return results
