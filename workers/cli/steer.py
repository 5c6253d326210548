"""`symposia suspend`, `resume`, `stop` and `cancel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .options import AsJson, SessionId

if TYPE_CHECKING:
    from ...job import CollabJob


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (suspend, resume, stop, cancel):
        app.command()(command)


def suspend(session: SessionId, as_json: AsJson = False) -> None:
    """Pause a session. A turn in flight is held, and written when the session goes on.

    Example: [bold]symposia suspend 3f2a91c4[/bold]
    """
    job = _job(session)
    job.suspend()
    _tell(job, "It is suspended; `symposia resume` lets it go on.", as_json=as_json)


def resume(session: SessionId, as_json: AsJson = False) -> None:
    """Let a suspended session go on.

    Example: [bold]symposia resume 3f2a91c4[/bold]
    """
    job = _job(session)
    job.resume()
    _tell(job, "It goes on.", as_json=as_json)


def stop(session: SessionId, as_json: AsJson = False) -> None:
    """Let a session complete once the turns in flight have closed.

    Example: [bold]symposia stop 3f2a91c4[/bold]
    """
    job = _job(session)
    job.stop()
    _tell(job, "It completes once the turns in flight have closed.", as_json=as_json)


def cancel(
    session: SessionId,
    reason: Annotated[str, typer.Option(help="Why; kept with the session.")] = "cancelled",
    as_json: AsJson = False,
) -> None:
    """End a session now. What turns in flight say is dropped.

    Example: [bold]symposia cancel 3f2a91c4 --reason "wrong question"[/bold]
    """
    job = _job(session)
    job.cancel(reason)
    _tell(job, "It is cancelled.", as_json=as_json)


def _job(session: str) -> CollabJob:
    from .find import find_job

    return find_job(session)


def _tell(job: CollabJob, words: str, *, as_json: bool) -> None:
    from .screen import print_json

    if as_json:
        print_json({"id": job.id, "status": job.status().value})
    else:
        typer.echo(f"Session {job.id}: {words}")
