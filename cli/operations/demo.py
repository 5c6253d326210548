"""`symposia demo`."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import MODE_NAMES, AsJson, read_mode
from ..common.screen import console, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from ...jobs.result import JobResult
    from ...models.sessions.submission import Submission

_LIVE_EXAMPLE = "openai:gpt-5"
_ANSWERS = {
    "recorded": "These are recorded answers: `--agents local` is for a small local model,\n"
    f"`--agents {_LIVE_EXAMPLE}` for a live one.",
    "local": "A small local model answers; Lead in `orchestrated` and Ben in `pair` are recorded.",
}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def _read_agents(name: str) -> str:
    if name not in _ANSWERS and not all(name.partition(":")):
        raise typer.BadParameter(
            f"{name!r} is not recorded, local or a PROVIDER:MODEL such as {_LIVE_EXAMPLE}."
        )
    return name


def demo(
    mode: Annotated[
        str | None,
        typer.Option(
            parser=read_mode, metavar=MODE_NAMES, help="Run only this mode.", show_default="all modes"
        ),
    ] = None,
    agents: Annotated[
        str,
        typer.Option(
            parser=_read_agents,
            metavar="recorded|local|PROVIDER:MODEL",
            help="Who answers: recorded answers of a large model, a small model on this machine, or a model of a "
            "provider, whose key is in the environment.",
        ),
    ] = "recorded",
    as_json: AsJson = False,
) -> None:
    """Run a session in each of the five modes, and show the messages live.

    Requires no running service: the demo starts a server and two Celery workers, and stops them
    at the end. The sessions run as any others; only the answers are recorded.

    Example: [bold]symposia demo --mode pair[/bold]
    """
    from ...workers.local.demo import LOCAL, RECORDED, check_live_model, demo_sessions
    from ..sessions.render import result_json, summary_table

    if agents == LOCAL:
        _require_local_model()
    elif agents != RECORDED:
        check_live_model(agents)
    sessions = demo_sessions(agents, mode)
    screen = console(stderr=as_json)
    results = _run(sessions, screen, agents)
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
        raise LocalModelError(f"{missing}; or run without it: symposia demo")


def _run(sessions: list[Submission], screen: Console, agents: str) -> list[JobResult]:
    from rich.text import Text

    from ...client import installation_of
    from ...models.modes import mode_of
    from ...workers.local.demo import LOCAL, WORKERS, start_demo
    from ..sessions.live_render import follow
    from ..sessions.render import heading, result_line

    parts = f"a server, {WORKERS} workers" + (" and the local model" if agents == LOCAL else "")
    results = []
    with ExitStack() as stack:
        with screen.status(f"starting {parts}"):
            client, local_runtime = stack.enter_context(start_demo(agents, say=screen.print))
        screen.print(f"Started {parts}.")
        screen.print(_ANSWERS.get(agents, f"{agents} answers."))
        for submission in sessions:
            job = installation_of(client).sessions.submit(submission)
            screen.print()
            screen.print(heading(job.collab()))
            screen.print(Text(f"{mode_of(job.collab().mode).summary}\n{job.collab().purpose}", style="dim"))
            result = follow(job, screen, between=local_runtime.check_services)
            screen.print(result_line(result))
            results.append(result)
    return results
