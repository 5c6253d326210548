"""`symposia review list`, `trend`, `show`, `cancel` and `retry`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...models.text.words import count_of
from ..common.options import AsJson, open_client
from ..common.screen import console, print_json, printable
from .options import DocumentFormat

if TYPE_CHECKING:
    from ...client import Client
    from ...reviews.job import ReviewJob
    from ...reviews.progress import Progress

ReviewId = Annotated[str, typer.Argument(metavar="ID", help="Review id, or at least its first 8 characters.")]


def add_to(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("list")(list_all)
    for command in (trend, show, cancel, retry):
        group.command()(command)


def list_all(
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of results.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List running and archived reviews, newest first.

    Example: [bold]symposia review list[/bold]
    """
    found = _client().reviews(limit=limit).items
    if as_json:
        print_json([it.to_json() for it in found])
        return
    if not found:
        console(stderr=True).print("No reviews.")
    for it in found:
        console().print(
            printable(
                f"{it.id[:8]}  {it.started}  {it.state:<9}  {it.root_name} by {it.panel}: {it.counts_text}"
            )
        )


def trend(
    root: Annotated[
        str | None, typer.Argument(help="Name of the root; without it, that of the newest review.")
    ] = None,
    panel: Annotated[
        str | None, typer.Option(help="Panel.", show_default="that of the newest review of the root")
    ] = None,
    branch: Annotated[
        str | None, typer.Option(help="Only reviews of this branch.", show_default="any branch")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of reviews, the newest.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the number of findings over the last archived reviews of a root, oldest first.

    Example: [bold]symposia review trend shop --branch main[/bold]
    """
    from ...models.text.ids import timestamp_from_ms

    found = _client().review_trend(root, panel=panel, branch=branch, limit=limit)
    if as_json:
        print_json([asdict(it) for it in found])
        return
    if not found:
        console(stderr=True).print("No archived reviews.")
    else:
        console().print(printable(f"{found[-1].root_name} by {found[-1].panel}"))
    for it in found:
        counts = ", ".join(f"{count} {name}" for name, count in it.findings.items()) or "no findings"
        changes = f"{it.new} new, {it.gone} gone, {it.suppressed} suppressed"
        place = f"{it.run_id[:8]}  {timestamp_from_ms(it.started_ms)}  {it.branch or '-'}  {it.state}"
        console().print(printable(f"{place}: {counts} ({changes})"))


def show(
    review: ReviewId,
    format: DocumentFormat = None,  # noqa: A002 - the option's name
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write reports to this folder; without --format, all formats."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the findings of a review so far; of a running review also its progress, cost and an estimate of the rest.

    Example: [bold]symposia review show 3f2a91c4 --format markdown[/bold]
    """
    from .output import Reports, print_findings, write_reports

    client, reports = _client(), Reports.of([format] if format else [], output)
    job = client.get_review(review)
    run, progress = job.run(), _progress(job)
    write_reports(
        run,
        reports,
        as_json=as_json,
        transcript=lambda it: client.get_job(it).transcript(),
        progress=progress,
    )
    print_findings(run, reports, as_json=as_json)
    if progress is not None and not as_json:
        console(stderr=True).print(f"Running: {progress}.", soft_wrap=True)


def _progress(job: ReviewJob) -> Progress | None:
    """Return the progress of a running review; None: it has ended, or only the archive knows it."""
    from ...models.errors import ReviewNotFound, StateError
    from ...models.text.ids import ms_from_moment, utcnow
    from ...reviews.progress import Progress

    try:
        view = job.progress()
    except (ReviewNotFound, StateError):
        return None
    return None if view.has_ended else Progress.of(view, now_ms=ms_from_moment(utcnow()))


def cancel(review: ReviewId, as_json: AsJson = False) -> None:
    """Cancel a review; the findings so far are reported.

    Example: [bold]symposia review cancel 3f2a91c4[/bold]
    """
    job = _client().get_review(review)
    _print_state(job, "is cancelled" if job.cancel() else "had already ended", as_json=as_json)


def retry(review: ReviewId, as_json: AsJson = False) -> None:
    """Retry only the items that failed or did not start.

    Example: [bold]symposia review retry 3f2a91c4[/bold]
    """
    job = _client().get_review(review)
    count = job.retry()
    _print_state(
        job, f"retries {count_of(count, 'item')}" if count else "has no items to retry", as_json=as_json
    )


def _client() -> Client:

    return open_client()


def _print_state(job: ReviewJob, words: str, *, as_json: bool) -> None:

    if as_json:
        summary: dict[str, Any] = {"id": job.id, "state": job.progress().state}
        print_json(summary)
    else:
        typer.echo(f"Review {job.id} {words}.")
