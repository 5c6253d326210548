"""`symposia run`, `submit`, `continue` and `fork`: new sessions."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import Approvers, AsJson, Attach, Observers, SessionId, Verbose, find_job, read_text
from ..common.screen import console, output_printer, print_json
from .submission_options import Input, ListInputs, Messages, Priority, Set, SubmissionOptions, inputs_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from ...agents.registry.registry import Registry
    from ...config.settings import Settings
    from ...jobs.collab import CollabJob
    from ...jobs.result import JobResult
    from ...jobs.session_file import SessionFile
    from ...models.sessions.submission import Submission

File = Annotated[
    str, typer.Argument(metavar="FILE", help="Session file, YAML or JSON; - reads standard input.")
]
Files = Annotated[
    list[str], typer.Argument(metavar="FILE...", help="Session files, YAML or JSON; - reads standard input.")
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

Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent", metavar="NAME=AGENT", help="Another agent for a participant; may be given several times."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(run)
    app.command()(submit)
    app.command("continue")(continue_session)
    app.command()(fork)


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
    priority: Priority = None,
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
    from .render import result_json, result_line

    settings = load_settings()
    source = SessionFile.open(file, root=settings.session_root)
    if list_inputs:
        declared = source.inputs()
        if as_json:
            print_json([session_input.model_dump(mode="json") for session_input in declared])
        else:
            console().print(inputs_table(declared))
        return
    options = SubmissionOptions(
        values, input_file, messages, record, attach, approvers, observers, priority=priority
    )
    (submission,) = options.read([source], settings)
    screen = console(stderr=as_json)
    result = _run(source, submission, settings, screen, answer_as=answer_as, verbose=verbose)
    if as_json:
        print_json(result_json(result))
    else:
        console().print(result_line(result))
    if not result.ok:
        raise typer.Exit(1)


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
    from .live_render import follow
    from .questions import PersonAtTerminal, person_to_ask
    from .render import heading, save_transcript

    limit = settings.max_message_bytes
    # Check before any service starts: a wrong file must not start one.
    with source.name_file_in_errors():
        prepared = prepare(submission, max_message_bytes=limit)
    asked = person_to_ask(submission, answer_as)
    registry, aside = load_registry(settings), console(stderr=True)
    local_model = needs_local_model(registry, prepared)

    heard = output_printer(aside, verbose=verbose)
    with start_local_runtime(settings, local_model=local_model, say=aside.print, heard=heard) as runtime:
        agent_names = runtime.client.known_agents() or registered_names(registry, settings)
        with source.name_file_in_errors(), _explain_unknown_agent(registry, settings):
            prepare(submission, known_agents=agent_names, max_message_bytes=limit)
            job = installation_of(runtime.client).sessions.submit(submission)
        screen.print(heading(job.collab()))
        try:
            person = PersonAtTerminal(job, asked, aside)
            result = follow(job, screen, between=runtime.check_services, person=person)
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
    priority: Priority = None,
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

    settings = load_settings()
    sources = [SessionFile.open(file, root=settings.session_root) for file in files]
    options = SubmissionOptions(
        values, input_file, messages, record, attach, approvers, observers, draft, priority
    )
    submissions = options.read(sources, settings)
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
        submitted = [{"id": job.id, "workers": workers} for job in jobs]
        print_json(submitted[0] if len(submitted) == 1 else submitted)
    else:
        for job in jobs:
            typer.echo(job.id)


def continue_session(
    session: SessionId,
    text: Annotated[str, typer.Argument(help="First message; `-` reads standard input.")],
    agent: Agents = None,
    as_json: AsJson = False,
) -> None:
    """Continue a session that has ended, in a new session of the same thread; print its id.

    The agents see the messages of the earlier session before those of the new one.

    Example: [bold]symposia continue 3f2a91c4 "And now in French?"[/bold]
    """
    job = find_job(session).continue_with(read_text(text), agents=dict(_pairs(agent, option="--agent")))
    _print_new(job, as_json=as_json)


def fork(
    session: SessionId,
    at_turn: Annotated[int, typer.Option("--at-turn", help="Number of the turn that is planned again.")],
    instruct: Annotated[
        list[str] | None,
        typer.Option(
            "--instruct",
            metavar="NAME=TEXT",
            help="An instruction for a participant's agent; may be given several times.",
        ),
    ] = None,
    agent: Agents = None,
    as_json: AsJson = False,
) -> None:
    """Begin a new session from the state before a turn of another one; print its id.

    Example: [bold]symposia fork 3f2a91c4 --at-turn 7 --instruct writer="One sentence at most."[/bold]
    """
    job = find_job(session).fork(
        at_turn=at_turn,
        instruct=dict(_pairs(instruct, option="--instruct")),
        agents=dict(_pairs(agent, option="--agent")),
    )
    _print_new(job, as_json=as_json)


def _pairs(values: Sequence[str] | None, *, option: str) -> list[tuple[str, str]]:
    from ...models.errors import InvalidInput

    pairs = []
    for value in values or ():
        name, sign, text = value.partition("=")
        if not (name and sign and text):
            raise InvalidInput(option, value, "must be NAME=VALUE")
        pairs.append((name, text))
    return pairs


def _print_new(job: CollabJob, *, as_json: bool) -> None:
    if as_json:
        print_json({"id": job.id, "thread_id": job.spec.thread_id})
    else:
        typer.echo(job.id)
