"""`symposia review list`, `show`, `cancel` and `retry`: reviews that were started here or elsewhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson

if TYPE_CHECKING:
    from ...client import Client
    from ...reviews.job import ReviewJob

ReviewId = Annotated[
    str, typer.Argument(metavar="ID", help="The review's id, or its first 8 characters or more.")
]


class ShownAs(StrEnum):
    """Reports of one document, by the names the models have for them."""

    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    JSONL = "jsonl"


def add_to(group: typer.Typer) -> None:
    """Adds the commands."""
    group.command("list")(list_all)
    for command in (show, cancel, retry):
        group.command()(command)


def list_all(
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="At most so many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List reviews, newest first: those under way, and those of the archive.

    Example: [bold]symposia review list[/bold]
    """
    from ..listed_reviews import listed
    from .screen import console, print_json, printable

    found = listed(_client(), limit=limit)
    if as_json:
        print_json([it.to_json() for it in found])
        return
    if not found:
        console(stderr=True).print("No reviews.")
    for it in found:
        console().print(
            printable(f"{it.id[:8]}  {it.started}  {it.state:<9}  {it.root_name} by {it.panel}: {it.told}")
        )


def show(
    review: ReviewId,
    format: Annotated[  # noqa: A002 - the option's name
        ShownAs | None, typer.Option("--format", help="Print this report instead.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write reports to this folder, all unless --format.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a review found so far.

    Example: [bold]symposia review show 3f2a91c4 --format markdown[/bold]
    """
    from .review_output import Reports, ending, write_reports

    client, reports = _client(), Reports.of([format] if format else [], output)
    job = _find(client, review)
    run = job.run()
    write_reports(run, reports, as_json=as_json, transcript=lambda it: client.get_job(it).transcript())
    ending(run, reports, as_json=as_json)


def cancel(review: ReviewId, as_json: AsJson = False) -> None:
    """End a review; what was found so far is reported.

    Example: [bold]symposia review cancel 3f2a91c4[/bold]
    """
    job = _find(_client(), review)
    _tell(job, "is cancelled" if job.cancel() else "had ended before", as_json=as_json)


def retry(review: ReviewId, as_json: AsJson = False) -> None:
    """Review the items again that failed or never began, and no others.

    Example: [bold]symposia review retry 3f2a91c4[/bold]
    """
    job = _find(_client(), review)
    count = job.retry()
    _tell(job, f"has {count} items to do again" if count else "has nothing to do again", as_json=as_json)


def _client() -> Client:
    from ...client import Client
    from ...config.settings import load_settings

    return Client(load_settings())


def _find(client: Client, text: str) -> ReviewJob:
    from ..listed_reviews import find_review

    return find_review(client, text)


def _tell(job: ReviewJob, words: str, *, as_json: bool) -> None:
    from .screen import print_json

    if as_json:
        told: dict[str, Any] = {"id": job.id, "state": job.progress().state}
        print_json(told)
    else:
        typer.echo(f"Review {job.id} {words}.")
