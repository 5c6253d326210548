"""`symposia review eval`: recall and precision of a panel and model on planted defects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...reviews.values.defect_set import DefectSet
from ..common.options import AsJson, Verbose
from ..common.screen import console
from .options import (
    Config,
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


def add_to(group: typer.Typer) -> None:
    """Add the command."""
    group.command("eval")(evaluate)


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
    from ...reviews.values.scores import score_run
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
    print_scores(score_run(loaded.dataset, loaded.defects, run), run, model=model, as_json=as_json)
    if run.state is not RunState.COMPLETED:
        raise typer.Exit(1)
