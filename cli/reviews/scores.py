"""Output of `symposia review eval`: a table of recall and precision, or JSON."""

from __future__ import annotations

from rich.table import Table

from ...models.text.words import count_of
from ...reviews.values.runs import ReviewRun
from ...reviews.values.scores import Evaluation, Score
from ..common.screen import console, print_json, printable

_COLUMNS = ("planted", "found", "recall", "findings", "true", "precision")


def print_scores(evaluation: Evaluation, run: ReviewRun, *, model: str | None, as_json: bool) -> None:
    """Print the scores of a run."""
    if as_json:
        print_json(_to_json(evaluation, run, model=model))
        return
    table = Table("kind", box=None)
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    for kind, score in evaluation.kinds.items():
        table.add_row(printable(kind), *_cells(score))
    table.add_row(
        f"{count_of(evaluation.clean_files, 'file')} without defects",
        *_cells(Score(0, 0, evaluation.clean_findings, 0)),
    )
    table.add_section()
    for name, score in evaluation.sets.items():
        table.add_row(f"set {name}", *_cells(score))
    table.add_row("total", *_cells(evaluation.total), style="bold")
    screen = console()
    screen.print(table)
    for defect in evaluation.missed:
        lines = f"{defect.path}:{defect.start_line}"
        screen.print(printable(f"{lines} missed: {defect.kind} ({defect.set})"), style="dim", markup=False)
    for finding in evaluation.false_findings:
        said = f"{finding.place} not planted: {finding.rule} {' '.join(finding.message.split())}"
        screen.print(printable(said), style="dim", markup=False)
    screen.print(printable(_last_line(evaluation, run, model)), markup=False, soft_wrap=True)


def _cells(score: Score) -> tuple[str, ...]:
    counts = score.planted, score.found, score.findings, score.true_findings
    planted, found, findings, true = map(str, counts)
    return planted, found, _share(score.recall), findings, true, _share(score.precision)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _last_line(evaluation: Evaluation, run: ReviewRun, model: str | None) -> str:
    """Return panel, model, state, cost, and the files that were not reviewed."""
    usage = run.usage
    words = [f"Panel {run.panel}, {f'model {model}' if model else 'no model'}: {run.state}."]
    words += [
        f"{count_of(usage.tokens, 'token', spec=',')}, US$ {usage.cost_micros / 1e6:.4f}. {run.summary}"
    ]
    if evaluation.unreviewed:
        words += [f"Not reviewed, so their defects are missed: {', '.join(evaluation.unreviewed)}."]
    return " ".join([*words, f"See symposia review show {run.id[:8]}."])


def _to_json(evaluation: Evaluation, run: ReviewRun, *, model: str | None) -> dict[str, object]:
    return {
        "dataset": run.root_name,
        "panel": run.panel,
        "model": model,
        "run": run.id,
        "state": run.state.value,
        "kinds": {kind: _score_json(score) for kind, score in evaluation.kinds.items()},
        "sets": {name.value: _score_json(score) for name, score in evaluation.sets.items()},
        "total": _score_json(evaluation.total),
        "clean": {"files": evaluation.clean_files, "findings": evaluation.clean_findings},
        "unreviewed": list(evaluation.unreviewed),
        "missed": [it.model_dump(mode="json") for it in evaluation.missed],
        "false_findings": [
            {"path": it.path, "line": it.start_line, "rule": it.rule, "message": it.message}
            for it in evaluation.false_findings
        ],
        "usage": run.usage.model_dump(mode="json"),
    }


def _score_json(score: Score) -> dict[str, object]:
    return {
        "planted": score.planted,
        "found": score.found,
        "recall": score.recall,
        "findings": score.findings,
        "true_findings": score.true_findings,
        "precision": score.precision,
    }
