"""Commands that control a running session.

`symposia activate`, `suspend`, `resume`, `retry`, `stop`, `cancel`, `add`, `remove`, `instruct` and `post`. The commands
`suspend`, `resume`, `retry` and `cancel` also change all sessions that match filters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import AsJson, Attach, By, SessionId, actor_name, find_job, read_text
from ..common.screen import print_json
from .filters import BulkOptions, with_filters

if TYPE_CHECKING:
    from ...jobs.collab import CollabJob
    from ...models.sessions.query import SessionQuery


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (activate, suspend, resume, retry, stop, cancel, add, remove, instruct, post):
        app.command()(command)


def activate(session: SessionId, by: By = None, as_json: AsJson = False) -> None:
    """Start a session that was submitted with `--draft`.

    Example: [bold]symposia activate 3f2a91c4[/bold]
    """
    job = find_job(session)
    job.activate(by=actor_name(by))
    _print_status(job, "started.", as_json=as_json)


SessionIdOrNone = Annotated[
    str | None,
    typer.Argument(
        metavar="ID",
        help="Session id, or at least its first 8 characters; without it, all sessions that match the filters.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the sessions that match the filters, and change nothing.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="With filters: do not ask before the change.")]


@with_filters
def suspend(
    session: SessionIdOrNone = None,
    *,
    query: SessionQuery,
    by: By = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Suspend a session, or all that match. The output of a turn in flight is held and written on resume.

    Example: [bold]symposia suspend 3f2a91c4[/bold]
    """
    options = BulkOptions("suspend", "suspended", dry_run, yes, as_json)
    text = "suspended; `symposia resume` continues it."
    _change(session, query, options, lambda job: job.suspend(by=actor_name(by)), text)


@with_filters
def resume(
    session: SessionIdOrNone = None,
    *,
    query: SessionQuery,
    by: By = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Resume a suspended session, or all that match.

    Example: [bold]symposia resume 3f2a91c4[/bold]
    """
    options = BulkOptions("resume", "resumed", dry_run, yes, as_json)
    _change(session, query, options, lambda job: job.resume(by=actor_name(by)), "resumed.")


@with_filters
def retry(
    session: SessionIdOrNone = None,
    *,
    query: SessionQuery,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Begin a new session before the turn that failed, for a failed session or all failed ones that match.

    Example: [bold]symposia retry --error TimeoutError --since 24h[/bold]
    """
    from ...jobs.retrying import retry_session

    options = BulkOptions("retry", "retried", dry_run, yes, as_json)
    _change(session, query, options, retry_session, "begins again what session {id} failed in.")


def stop(session: SessionId, by: By = None, as_json: AsJson = False) -> None:
    """Stop a session: it completes when the turns in flight have closed.

    Example: [bold]symposia stop 3f2a91c4[/bold]
    """
    job = find_job(session)
    job.stop(by=actor_name(by))
    _print_status(job, "stopping; it completes when the turns in flight have closed.", as_json=as_json)


@with_filters
def cancel(
    session: SessionIdOrNone = None,
    *,
    query: SessionQuery,
    reason: Annotated[str, typer.Option(help="Reason, stored with the session.")] = "cancelled",
    by: By = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Cancel a session now, or all that match. The output of turns in flight is discarded.

    Example: [bold]symposia cancel --status active --tenant press --older 2d --dry-run[/bold]
    """
    options = BulkOptions("cancel", "cancelled", dry_run, yes, as_json)
    _change(session, query, options, lambda job: job.cancel(reason, by=actor_name(by)), "cancelled.")


def _change(
    session: str | None,
    query: SessionQuery,
    options: BulkOptions,
    change: Callable[[CollabJob], CollabJob | None],
    text: str,
) -> None:
    """Change the session with an id, or without an id all that match, and print what happened.

    Args:
        session: The id.
        query: The filters.
        options: The other options.
        change: Changes a session; returns the one to print, or None for the same.
        text: What happened to the session with the id, which may be in it as `{id}`.
    """
    from ...models.errors import InvalidInput
    from ...models.sessions.query import ANY_QUERY

    if session is None:
        from .bulk import change_all

        change_all(query, options, change)
        return
    if query != ANY_QUERY or options.dry_run:
        raise InvalidInput("ID", session, "must not be given with filters or --dry-run")
    job = find_job(session)
    _print_status(change(job) or job, text.format(id=job.id), as_json=options.as_json)


def _print_status(job: CollabJob, text: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"id": job.id, "status": job.status().value})
    else:
        typer.echo(f"Session {job.id}: {text}")


Who = Annotated[str, typer.Argument(metavar="PARTICIPANT", help="Participant id.")]
Key = Annotated[
    str | None,
    typer.Option(
        help="Idempotency key, any text: a change sent again with the same key is applied only once."
    ),
]


def add(
    session: SessionId,
    participant: Who,
    agent: Annotated[
        str | None,
        typer.Option(
            help="Agent that answers for the participant.",
            show_default="the agent named like the participant",
        ),
    ] = None,
    role: Annotated[str | None, typer.Option(help="Role id of the participant.")] = None,
    kind: Annotated[
        str, typer.Option(help="Kind of participant: agent, human, system or external.")
    ] = "agent",
    by: By = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Add a participant to a running session, from the next round on.

    Example: [bold]symposia add 3f2a91c4 critic --agent reviewer[/bold]
    """
    job = find_job(session)
    who = {"participant_id": participant, "kind": kind} | ({"role_id": role} if role else {})
    job.add_participant(who, agent, by=actor_name(by), key=key)
    _print_status(job, f"{participant} takes part from the next round on.", as_json=as_json)


def remove(
    session: SessionId, participant: Who, by: By = None, key: Key = None, as_json: AsJson = False
) -> None:
    """Remove a participant from a running session, from the next round on.

    Example: [bold]symposia remove 3f2a91c4 critic[/bold]
    """
    job = find_job(session)
    job.remove_participant(participant, by=actor_name(by), key=key)
    _print_status(job, f"{participant} is removed from the next round on.", as_json=as_json)


def instruct(
    session: SessionId,
    participant: Who,
    text: Annotated[str, typer.Argument(help="New instructions; `-` reads standard input.")],
    by: By = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Replace the instructions of a participant's agent, from its next turn on.

    Example: [bold]symposia instruct 3f2a91c4 writer "One sentence at most."[/bold]
    """
    job = find_job(session)
    job.instruct(participant, read_text(text), by=actor_name(by), key=key)
    _print_status(job, f"{participant} gets the new instructions from its next turn on.", as_json=as_json)


def post(
    session: SessionId,
    text: Annotated[str, typer.Argument(help="Text of the message; `-` reads standard input.")],
    role: Annotated[str, typer.Option(help="Role of the message: user or system.")] = "user",
    by: By = None,
    key: Key = None,
    attach: Attach = None,
    as_json: AsJson = False,
) -> None:
    """Post a message to a running session; if a turn is active, the message follows its output.

    Example: [bold]symposia post 3f2a91c4 "The budget has changed: 40,000."[/bold]
    """
    job = find_job(session)
    job.post(read_text(text), role=role, by=actor_name(by), key=key, attachments=attach)
    _print_status(job, "message accepted.", as_json=as_json)
