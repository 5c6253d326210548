"""`symposia suspend`, `resume`, `stop` and `cancel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import AsJson, SessionId

if TYPE_CHECKING:
    from ....jobs.collab import CollabJob


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (suspend, resume, stop, cancel):
        app.command()(command)


def suspend(session: SessionId, as_json: AsJson = False) -> None:
    """Suspend a session. The output of a turn in flight is held and written when the session is resumed.

    Example: [bold]symposia suspend 3f2a91c4[/bold]
    """
    job = _job(session)
    job.suspend()
    _print_status(job, "suspended; `symposia resume` continues it.", as_json=as_json)


def resume(session: SessionId, as_json: AsJson = False) -> None:
    """Resume a suspended session.

    Example: [bold]symposia resume 3f2a91c4[/bold]
    """
    job = _job(session)
    job.resume()
    _print_status(job, "resumed.", as_json=as_json)


def stop(session: SessionId, as_json: AsJson = False) -> None:
    """Stop a session: it completes when the turns in flight have closed.

    Example: [bold]symposia stop 3f2a91c4[/bold]
    """
    job = _job(session)
    job.stop()
    _print_status(job, "stopping; it completes when the turns in flight have closed.", as_json=as_json)


def cancel(
    session: SessionId,
    reason: Annotated[str, typer.Option(help="Reason, stored with the session.")] = "cancelled",
    as_json: AsJson = False,
) -> None:
    """Cancel a session now. The output of turns in flight is discarded.

    Example: [bold]symposia cancel 3f2a91c4 --reason "wrong question"[/bold]
    """
    job = _job(session)
    job.cancel(reason)
    _print_status(job, "cancelled.", as_json=as_json)


def _job(session: str) -> CollabJob:
    from ..common.ids import find_job

    return find_job(session)


def _print_status(job: CollabJob, words: str, *, as_json: bool) -> None:
    from ..common.screen import print_json

    if as_json:
        print_json({"id": job.id, "status": job.status().value})
    else:
        typer.echo(f"Session {job.id}: {words}")
