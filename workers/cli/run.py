"""`symposia run` and `symposia submit`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from .options import AsJson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from ...agents.registry import Registry
    from ...config.settings import Settings
    from ...job import JobResult
    from ..session_file import SessionFile

File = Annotated[
    str, typer.Argument(metavar="FILE", help="A session file, YAML or JSON; - is standard input.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show what the worker logs.")]


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(run)
    app.command()(submit)


def run(file: File, as_json: AsJson = False, verbose: Verbose = False) -> None:
    """Run a session, follow it live, and exit as it ended.

    Starts what is missing for as long as the session lasts: the embedded server when no Redis
    is configured, a worker when none is running, the local model when an agent speaks with it.

    An alignment session leaves its transcript in ID.dialogue.md.

    Example: [bold]symposia run examples/pair.yaml[/bold]
    """
    from ...config.settings import load_settings
    from ..session_file import SessionFile
    from .render import ending, result_json
    from .screen import console, print_json

    source = SessionFile.open(file)
    result = _run(source, load_settings(), console(stderr=as_json), verbose=verbose)
    if as_json:
        print_json(result_json(result))
    else:
        console().print(ending(result))
    if not result.ok:
        raise typer.Exit(1)


def _run(source: SessionFile, settings: Settings, screen: Console, *, verbose: bool) -> JobResult:
    from ...tasks.opening import prepare
    from ..crew import crew_for_a_run, needs_local_model
    from ..runtime import load_registry
    from .live import follow
    from .render import heading
    from .screen import console, printable
    from .transcript import save_transcript

    submission, limit = source.submission(), settings.max_message_bytes
    # Before anything is started: a broken file starts nothing.
    with source.blamed():
        prepared = prepare(submission, max_message_bytes=limit)
    registry, aside = load_registry(settings), console(stderr=True)
    local_model = needs_local_model(registry, prepared)

    def heard(name: str, line: str) -> None:
        if verbose:
            aside.print(f"{name} | {printable(line)}", style="dim")

    with crew_for_a_run(settings, local_model=local_model, say=aside.print, heard=heard) as crew:
        known = crew.client.known_agents() or frozenset(registry.names())
        with source.blamed(), _workers_blamed(registry):
            prepare(submission, known_agents=known, max_message_bytes=limit)
            job = crew.client.submit_all(submission)
        screen.print(heading(job.collab()))
        try:
            result = follow(job, screen, between=crew.tend)
            if submission.protocol is not None:
                save_transcript(job)
            return result
        except KeyboardInterrupt:
            aside.print(
                f"Interrupted. Session {job.id} goes on as soon as a worker is there: symposia watch {job.id}"
            )
            raise


@contextmanager
def _workers_blamed(registry: Registry) -> Iterator[None]:
    """Tells an agent that nobody knows from one that only a running worker does not know."""
    from ...models.errors import InvalidInput, UnknownAgent

    try:
        yield
    except UnknownAgent as error:
        if not registry.knows(error.name):
            raise
        rule = "must be known to every worker that runs: one has another agents file, see `symposia doctor`"
        raise InvalidInput(error.field, error.name, rule) from error


def submit(file: File, as_json: AsJson = False) -> None:
    """Queue a session and print its id.

    Example: [bold]symposia submit examples/swarm.yaml[/bold]
    """
    from ...client import Client
    from ...config.settings import load_settings
    from ..session_file import SessionFile
    from .screen import print_json

    source = SessionFile.open(file)
    submission, client = source.submission(), Client(load_settings())
    with source.blamed():
        job = client.submit_all(submission)
    if as_json:
        print_json({"id": job.id, "workers": len(client.workers.alive())})
    else:
        typer.echo(job.id)
