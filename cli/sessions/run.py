"""`symposia run` and `symposia submit`."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import Approvers, AsJson, Attach, Observers
from .input_options import Input, InputOptions, ListInputs, Messages, Set, inputs_json, inputs_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console

    from ...agents.registry.registry import Registry
    from ...config.settings import Settings
    from ...jobs.result import JobResult
    from ...jobs.session_file import SessionFile
    from ...models.sessions.submission import Submission

File = Annotated[
    str, typer.Argument(metavar="FILE", help="Session file, YAML or JSON; - reads standard input.")
]
Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Session files, YAML or JSON; - reads standard input."),
]
Record = Annotated[
    bool | None,
    typer.Option(
        "--record/--no-record",
        help="Record model requests and tool calls, for `symposia replay`.",
        show_default="as in the file, else SYMPOSIA_RECORD_CALLS",
    ),
]
AnswerAs = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="NAME",
        help="Person who is asked in this terminal.",
        show_default="the only human participant, or human",
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show the log of the worker.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(run)
    app.command()(submit)


def run(  # noqa: PLR0913 - each is an option
    file: File,
    values: Set = None,
    input_file: Input = None,
    messages: Messages = None,
    list_inputs: ListInputs = False,
    as_json: AsJson = False,
    record: Record = None,
    attach: Attach = None,
    approvers: Approvers = None,
    observers: Observers = None,
    answer_as: AnswerAs = None,
    verbose: Verbose = False,
) -> None:
    """Run a session, follow it live, ask you what it asks you, and exit with a code for its outcome.

    Starts missing services and stops them when the session ends: the embedded server if no Redis
    is configured, a worker if none is running, the local model if an agent uses it.

    A question to you is answered in this terminal, or by the next line of standard input. Ctrl-C leaves the session
    running.

    An alignment session writes its transcript to ID.dialogue.md in the current folder.

    Example: [bold]symposia run examples/pair.yaml[/bold]

    With inputs: [bold]symposia run examples/inputs.yaml --set topic=doors[/bold]
    """
    from ...config.settings import load_settings
    from ...jobs.session_file import SessionFile
    from ..common.screen import console, print_json
    from .render import result_json, result_line

    settings = load_settings()
    source = SessionFile.open(file, root=settings.session_root)
    if list_inputs:
        declared = source.inputs()
        print_json(inputs_json(declared)) if as_json else console().print(inputs_table(declared))
        return
    (submission,) = InputOptions(values or (), input_file, messages or ()).read([source])
    submission = _with_attachments(_with_record(submission, record), attach, settings)
    submission = _with_people(submission, approvers, observers)
    screen = console(stderr=as_json)
    result = _run(source, submission, settings, screen, answer_as=answer_as, verbose=verbose)
    if as_json:
        print_json(result_json(result))
    else:
        console().print(result_line(result))
    if not result.ok:
        raise typer.Exit(1)


def _with_record(submission: Submission, record: bool | None) -> Submission:
    return submission if record is None else replace(submission, record=record)


def _with_people(
    submission: Submission, approvers: list[str] | None, observers: list[str] | None
) -> Submission:
    """Return a submission with further people without turns."""
    from ...models.turns.asked_people import read_names

    return replace(
        submission,
        approvers=(*submission.approvers, *read_names("--approver", approvers)),
        observers=(*submission.observers, *read_names("--observer", observers)),
    )


def _with_attachments(submission: Submission, files: list[Path] | None, settings: Settings) -> Submission:
    """Return a submission with further attachments, whose sizes are checked."""
    from ...models.attachments import check_attachments, read_given

    given = read_given(files, max_bytes=settings.max_attachment_bytes)
    attachments = (*submission.attachments, *given)
    check_attachments(attachments, max_bytes=settings.max_attachment_bytes)
    return replace(submission, attachments=attachments) if given else submission


def _run(
    source: SessionFile,
    submission: Submission,
    settings: Settings,
    screen: Console,
    *,
    answer_as: str | None,
    verbose: bool,
) -> JobResult:
    from ...client import installation_of
    from ...client.building.runtime import load_registry
    from ...tasks.sessions.opening import prepare
    from ...workers.local.code_check import registered_names
    from ...workers.local.local_runtime import needs_local_model, start_local_runtime
    from ..common.screen import console, printable
    from .answering import PersonAtTerminal, person_to_ask
    from .live_render import follow
    from .render import heading, save_transcript

    limit = settings.max_message_bytes
    # Check before any service starts: a wrong file must not start one.
    with source.name_file_in_errors():
        prepared = prepare(submission, max_message_bytes=limit)
    asked = person_to_ask(submission, answer_as)
    registry, aside = load_registry(settings), console(stderr=True)
    local_model = needs_local_model(registry, prepared)

    def heard(name: str, line: str) -> None:
        if verbose:
            aside.print(f"{name} | {printable(line)}", style="dim")

    with start_local_runtime(
        settings, local_model=local_model, say=aside.print, heard=heard
    ) as local_runtime:
        known = local_runtime.client.known_agents() or registered_names(registry, settings)
        with source.name_file_in_errors(), _explain_unknown_agent(registry, settings):
            prepare(submission, known_agents=known, max_message_bytes=limit)
            job = installation_of(local_runtime.client).sessions.submit(submission)
        screen.print(heading(job.collab()))
        try:
            person = PersonAtTerminal(job, asked, aside)
            result = follow(job, screen, between=local_runtime.check_services, person=person)
            if submission.protocol is not None:
                save_transcript(job)
            return result
        except KeyboardInterrupt:
            aside.print(
                f"Interrupted. Session {job.id} continues when a worker is running. To follow it: symposia watch {job.id}. "
                f"To cancel it: symposia cancel {job.id}"
            )
            raise


@contextmanager
def _explain_unknown_agent(registry: Registry, settings: Settings) -> Iterator[None]:
    """Replace UnknownAgent by an error about the workers if only a worker does not know the agent."""
    from ...models.errors import InvalidInput, UnknownAgent
    from ...workers.local.code_check import registered_names

    try:
        yield
    except UnknownAgent as error:
        if not registry.knows(error.name) and error.name not in registered_names(registry, settings):
            raise
        rule = (
            "must be known to a running worker, but each of them has another agents file or earlier code; "
            "restart one, see `symposia doctor`"
        )
        raise InvalidInput(error.field, error.name, rule) from error


def submit(  # noqa: PLR0913 - each is an option
    files: Files,
    values: Set = None,
    input_file: Input = None,
    messages: Messages = None,
    as_json: AsJson = False,
    record: Record = None,
    attach: Attach = None,
    approvers: Approvers = None,
    observers: Observers = None,
    draft: Annotated[
        bool, typer.Option("--draft", help="Queue each session as a draft, which `symposia activate` starts.")
    ] = False,
) -> None:
    """Queue sessions and print their ids, one per line.

    All files are checked before the first session is queued. Inputs, messages and attachments apply to each file.

    Example: [bold]symposia submit examples/swarm.yaml[/bold]
    """
    from ...client import Client, installation_of
    from ...config.settings import load_settings
    from ...jobs.session_file import SessionFile
    from ..common.screen import print_json

    settings = load_settings()
    sources = [SessionFile.open(file, root=settings.session_root) for file in files]
    options = InputOptions(values or (), input_file, messages or ())
    submissions = [
        _with_people(_with_attachments(_with_record(it, record), attach, settings), approvers, observers)
        for it in options.read(sources)
    ]
    submissions = [replace(it, draft=draft or it.draft) for it in submissions]
    sessions = installation_of(Client(settings)).sessions
    if len(sources) == 1:
        with sources[0].name_file_in_errors():
            jobs = [sessions.submit(submissions[0])]
    else:
        jobs = sessions.submit_many(
            submissions, name_in_errors=lambda index: sources[index].name_file_in_errors()
        )
    if as_json:
        workers = len(sessions.workers.list_alive())
        found = [{"id": job.id, "workers": workers} for job in jobs]
        print_json(found[0] if len(found) == 1 else found)
    else:
        for job in jobs:
            typer.echo(job.id)
