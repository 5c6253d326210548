"""`symposia review eval`, `list`, `trend`, `show`, `cancel` and `retry`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...models.text.words import count_of
from ...reviews.values.defect_set import DefectSet
from ..common.options import AsJson, Verbose, open_client
from ..common.screen import console, print_json, printable
from .options import (
    Config,
    DocumentFormat,
    DryRun,
    Everything,
    MaxTokens,
    MaxUsd,
    MinConfidence,
    Model,
    NoConfig,
    Parallel,
    chosen_config,
)

if TYPE_CHECKING:
    from ...reviews.job import ReviewJob
    from ...reviews.state.records import Progress

ReviewId = Annotated[str, typer.Argument(metavar="ID", help="Review id, or at least its first 8 characters.")]


def add_to(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("eval")(evaluate)
    group.command("list")(list_all)
    for command in (trend, show, cancel, retry):
        group.command()(command)


def evaluate(  # noqa: PLR0913 - each is an option
    dataset: Annotated[
        Path, typer.Argument(help="Folder with dataset.toml, such as examples/review_eval, or such a file.")
    ],
    panel: Annotated[
        str, typer.Option(help="Panel to evaluate: code, pair, or a panel of panels.toml.")
    ] = "code",
    model: Model = None,
    defect_set: Annotated[
        DefectSet | None, typer.Option("--set", help="Only the files of this set.", show_default="both sets")
    ] = None,
    config: Config = None,
    no_config: NoConfig = False,
    everything: Everything = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    parallel: Parallel = None,
    min_confidence: MinConfidence = None,
    dry_run: DryRun = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate a panel and model: recall and precision for each kind of planted defect.

    With an archive, an interrupted evaluation continues: files that this panel has reviewed are not reviewed again,
    unless --all is given.

    Example: [bold]symposia review eval examples/review_eval --model house --set tuning[/bold]
    """
    settings = chosen_config(config, no_config=no_config)
    from ...reviews.evaluation.dataset import read_dataset, request_for_dataset
    from ...reviews.values.panels import BatchLimits
    from ...reviews.values.runs import RunState
    from ...reviews.values.scores import gaming_findings, perfect_findings, score_findings, score_run
    from .local_review import LocalReviewRequest, ReviewProgress, estimate_local_review, run_local_review
    from .output import print_scores
    from .run_review import print_estimate

    loaded = read_dataset(dataset, chosen=defect_set)
    asked = LocalReviewRequest(
        order=lambda _: request_for_dataset(
            loaded, panel=panel, model=model, everything=everything, config=settings
        ),
        limits=BatchLimits(max_tokens=max_tokens, max_usd=max_usd),
        parallel=parallel,
        min_confidence=min_confidence,
    )
    if dry_run:
        print_estimate(estimate_local_review(asked), as_json=as_json)
        return
    with ReviewProgress(console(stderr=True), verbose=verbose, as_json=as_json) as progress:
        run = run_local_review(asked, progress).run
    scripted = {
        name: score_findings(loaded.dataset, loaded.defects, findings)
        for name, findings in (
            ("perfect", perfect_findings(loaded.dataset, loaded.defects)),
            ("gaming", gaming_findings(loaded.dataset, loaded.lines)),
        )
    }
    evaluation = score_run(loaded.dataset, loaded.defects, run)
    print_scores(evaluation, run, model=model, scripted=scripted, as_json=as_json)
    if run.state is not RunState.COMPLETED:
        raise typer.Exit(1)


def list_all(
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of results.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List running and archived reviews, newest first.

    Example: [bold]symposia review list[/bold]
    """
    reviews = open_client().reviews(limit=limit).items
    if as_json:
        print_json([review.to_json() for review in reviews])
        return
    if not reviews:
        console(stderr=True).print("No reviews.")
    for review in reviews:
        console().print(
            printable(
                f"{review.id[:8]}  {review.started}  {review.state:<9}  "
                f"{review.root_name} by {review.panel}: {review.counts_text}"
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

    points = open_client().review_trend(root, panel=panel, branch=branch, limit=limit)
    if as_json:
        print_json([asdict(point) for point in points])
        return
    if not points:
        console(stderr=True).print("No archived reviews.")
    else:
        console().print(printable(f"{points[-1].root_name} by {points[-1].panel}"))
    for point in points:
        counts = ", ".join(f"{count} {name}" for name, count in point.findings.items()) or "no findings"
        changes = f"{point.new} new, {point.gone} gone, {point.suppressed} suppressed"
        head = (
            f"{point.run_id[:8]}  {timestamp_from_ms(point.started_ms)}  {point.branch or '-'}  {point.state}"
        )
        console().print(printable(f"{head}: {counts} ({changes})"))


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

    client, reports = open_client(), Reports.of([format] if format else [], output)
    job = client.get_review(review)
    run, progress = job.run(), _progress(job)
    write_reports(
        run,
        reports,
        as_json=as_json,
        transcript=lambda session_id: client.get_job(session_id).transcript(),
        progress=progress,
    )
    print_findings(run, reports, as_json=as_json)
    if progress is not None and not as_json:
        console(stderr=True).print(f"Running: {progress}.", soft_wrap=True)


def _progress(job: ReviewJob) -> Progress | None:
    """Return the progress of a running review; None: it has ended, or only the archive knows it."""
    from ...models.errors import ReviewNotFound, StateError
    from ...models.text.ids import ms_from_moment, utcnow
    from ...reviews.state.records import Progress

    try:
        view = job.progress()
    except (ReviewNotFound, StateError):
        return None
    return None if view.has_ended else Progress.of(view, now_ms=ms_from_moment(utcnow()))


def cancel(review: ReviewId, as_json: AsJson = False) -> None:
    """Cancel a review; the findings so far are reported.

    Example: [bold]symposia review cancel 3f2a91c4[/bold]
    """
    job = open_client().get_review(review)
    _print_state(job, "is cancelled" if job.cancel() else "had already ended", as_json=as_json)


def retry(review: ReviewId, as_json: AsJson = False) -> None:
    """Retry only the items that failed or did not start.

    Example: [bold]symposia review retry 3f2a91c4[/bold]
    """
    job = open_client().get_review(review)
    count = job.retry()
    _print_state(
        job, f"retries {count_of(count, 'item')}" if count else "has no items to retry", as_json=as_json
    )


def _print_state(job: ReviewJob, text: str, *, as_json: bool) -> None:
    if as_json:
        summary: dict[str, Any] = {"id": job.id, "state": job.progress().state}
        print_json(summary)
    else:
        typer.echo(f"Review {job.id} {text}.")
