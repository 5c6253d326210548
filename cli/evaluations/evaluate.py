"""`symposia eval`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import AsJson, Verbose
from ..common.screen import console, output_printer, print_json, printable

if TYPE_CHECKING:
    from ...evaluation.cases_file import CasesFile
    from ...evaluation.results import EvaluationResult

File = Annotated[
    str, typer.Argument(metavar="CASES", help="Cases file, YAML or JSON; - reads standard input.")
]
Name = Annotated[
    str | None,
    typer.Option(
        help="Name of the evaluation; under another name, all runs run again.",
        show_default="as in the file, else the file's name",
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Run all again, under a new name that is printed.")]
MinScore = Annotated[
    float | None,
    typer.Option(help="Exit with 1 if the mean score of a variant is below this (0 to 1).", min=0, max=1),
]
Parallel = Annotated[
    int | None,
    typer.Option(
        help="Maximum number of runs at the same time.", min=1, max=64, show_default="as in the file, else 8"
    ),
]
HtmlFile = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the result as HTML.")]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval")(evaluate)


def evaluate(
    file: File,
    name: Name = None,
    fresh: Fresh = False,
    min_score: MinScore = None,
    parallel: Parallel = None,
    as_json: AsJson = False,
    html_file: HtmlFile = None,
    verbose: Verbose = False,
) -> None:
    """Run cases with variants of a session, score the answers, and compare the variants.

    Each run is a session that runs once: the same command again, also after it was interrupted or killed, reads the
    sessions that exist and submits those that are missing. Starts missing services, as `symposia run`.

    With --json, the table is on standard error.

    Exits with 1 if a variant is below --min-score, a scorer failed, or a limit of the file was reached.

    Example: [bold]symposia eval examples/eval/cases.yaml --min-score 0.5[/bold]
    """
    from ...config.settings import load_settings
    from ...evaluation.cases_file import CasesFile
    from .output import check_target, print_result, write_html

    check_target(html_file)
    cases = CasesFile.open(file, root=load_settings().session_root)
    if name is not None or fresh:
        cases = cases.renamed(_fresh_name(name or cases.evaluation.name) if fresh else str(name))
    if parallel is not None:
        cases = cases.with_parallel(parallel)
    result = _run(cases, fresh=fresh, verbose=verbose)
    write_html(result, html_file)
    if as_json:
        print_json(result.to_json())
    print_result(result, aside=as_json)
    if not result.reaches(min_score or 0.0):
        raise typer.Exit(1)


def _fresh_name(name: str) -> str:
    from ...models.text.ids import new_id

    return f"{name[:80]}-{new_id()[:8]}"


def _run(cases: CasesFile, *, fresh: bool, verbose: bool) -> EvaluationResult:
    from ...client.building.runtime import load_registry
    from ...client.evaluations import run_cases
    from ...config.settings import load_settings
    from ...workers.local.code_check import registered_names
    from ...workers.local.local_runtime import needs_local_model, start_local_runtime
    from .output import EvaluationProgressLine

    settings, aside = load_settings(), console(stderr=True)
    limit = settings.max_message_bytes
    # Check before any service starts: a wrong file must not start one.
    prepared = cases.check(known_agents=frozenset(), max_message_bytes=limit)
    cases.check_messages(max_message_bytes=limit)
    registry = load_registry(settings)
    if fresh:
        aside.print(
            f"Evaluation {printable(cases.evaluation.name)}; to continue it: --name {printable(cases.evaluation.name)}"
        )

    heard = output_printer(aside, verbose=verbose)
    local_model = any(needs_local_model(registry, it) for it in prepared)
    with start_local_runtime(settings, local_model=local_model, say=aside.print, heard=heard) as runtime:
        known = runtime.client.known_agents() or registered_names(registry, settings)
        cases.check(known_agents=known, max_message_bytes=limit)
        try:
            with EvaluationProgressLine(aside) as progress:
                return run_cases(
                    runtime.client, cases, on_progress=progress.show, between=runtime.check_services
                )
        except KeyboardInterrupt:
            aside.print(
                "Interrupted. Submitted sessions continue when a worker is running. To continue: the same command again."
            )
            raise
