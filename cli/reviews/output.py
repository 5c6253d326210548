"""Output of the commands of reviews and schedules.

Reports of a review in files or on standard output, its findings as text, scores of planted defects, and tables of
schedules and their runs, with times in the time zone of each schedule.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self
from zoneinfo import ZoneInfo

from rich.table import Table
from rich.text import Text

from ...models.errors import InvalidInput
from ...models.severity import Severity
from ...models.text.ids import moment_from_ms
from ...models.text.words import count_of, dollars
from ...reviews.reports.formats import ALL, ReportFormat, format_of, formats, render, report_files
from ...reviews.state.records import Progress
from ...reviews.values.coverage import coverage_of
from ...reviews.values.findings import Finding, FindingStatus
from ...reviews.values.runs import ItemState, ReviewRun, headline
from ...reviews.values.scores import Evaluation, Score
from ...schedules.schedule import ScheduleRunRecord
from ...schedules.schedules import ScheduleEntry
from ..common.screen import console, plain_table, print_document, print_json, printable

_COLOURS = {
    Severity.CRITICAL: "bold red",
    Severity.HIGH: "red",
    Severity.MEDIUM: "yellow",
    Severity.LOW: "cyan",
    Severity.INFO: "dim",
}


@dataclass(frozen=True, slots=True)
class Reports:
    """Requested reports and their destination."""

    formats: tuple[ReportFormat, ...] = ()
    #: None: the one report is printed.
    folder: Path | None = None

    @classmethod
    def of(cls, named: Iterable[str], folder: Path | None) -> Self:
        """Return the reports that the options request.

        Args:
            named: Values of --format; `all` means every format.
            folder: Value of --output.

        Raises:
            InvalidInput: The folder is a file, or is required and missing.
        """
        names = tuple(dict.fromkeys(named))
        if folder is not None:
            _check_writable(
                folder, next(path for path in (folder, *folder.absolute().parents) if path.exists()), "output"
            )
        chosen = formats() if ALL in names else tuple(map(format_of, names))
        if folder is None and (len(chosen) > 1 or any(form.render is None for form in chosen)):
            several = ", ".join(form.name for form in formats() if form.render is None)
            raise InvalidInput(
                "output",
                None,
                f"requires a folder for several reports or for the format {several}: --output DIR",
            )
        return cls(chosen or (formats() if folder else ()), folder)

    @property
    def is_printed(self) -> bool:
        """Return whether a report is printed on standard output."""
        return bool(self.formats) and self.folder is None


def check_file_target(path: Path, *, field: str) -> None:
    """Raise InvalidInput if no file can be written at `path`, before a review takes its time."""
    if path.is_dir():
        raise InvalidInput(field, str(path), "must be a file")
    _check_writable(path, path.absolute().parent, field)


def _check_writable(target: Path, folder: Path, field: str) -> None:
    if not folder.is_dir():
        rule = "must be a folder" if folder == target else f"must be in a folder: {folder} is not one"
        raise InvalidInput(field, str(target), rule)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInput(field, str(target), f"must be in a folder that is writable: {folder} is not")


def write_reports(
    run: ReviewRun,
    reports: Reports,
    *,
    as_json: bool,
    transcript: Callable[[str], str] | None = None,
    progress: Progress | None = None,
) -> None:
    """Write or print the reports.

    Args:
        run: The review run.
        reports: Requested reports.
        as_json: Print the run as JSON instead of a report.
        transcript: Returns the alignment document of a session id.
        progress: Progress of a running review, added to the JSON.
    """
    if as_json:
        more = {} if progress is None else {"progress": progress.to_json()}
        print_json({**run.model_dump(mode="json"), "coverage": coverage_of(run).to_json(), **more})
    elif reports.is_printed:
        print_document(render(run, reports.formats[0]))
    if reports.folder is None:
        return
    reports.folder.mkdir(parents=True, exist_ok=True)
    for file in report_files(run, reports.formats, transcript=transcript):
        (reports.folder / file.name).write_text(file.text, encoding="utf-8")


def print_findings(run: ReviewRun, reports: Reports, *, as_json: bool) -> None:
    """Print the findings as text, or one line on standard error if standard output has a report or JSON."""
    if as_json or reports.is_printed:
        console(stderr=True).print(Text(_last_line(run)))
        return
    screen = console()
    for finding in run.findings:
        if finding.is_open or finding.suppression is not None:
            screen.print(_line(finding))
    for result in run.results:
        if result.state is ItemState.FAILED:
            screen.print(Text(printable(f"{result.item.path}: not reviewed: {result.error}"), style="red"))
        if result.dropped:
            screen.print(
                Text(printable(f"{result.item.path}: findings dropped: {result.dropped}"), style="dim")
            )
    screen.print(Text(_last_line(run)))
    if reports.folder is not None:
        screen.print(f"Reports written to {reports.folder}.")


def _last_line(run: ReviewRun) -> str:
    """Return the headline, the summary and the command that shows the review again."""
    return printable(f"{headline(run)}. {run.summary} See symposia review show {run.id[:8]}.")


def _line(finding: Finding) -> Text:
    who = ", ".join(finding.agents)
    new = " new" if finding.status is FindingStatus.NEW else ""
    if finding.suppression is not None:
        new = f" suppressed by {finding.suppressed_by}"
    return Text.assemble(
        (printable(finding.place), "bold"),
        " ",
        (f"{finding.severity}", _COLOURS[finding.severity] if finding.is_open else "dim"),
        f" {printable(finding.rule)} {printable(' '.join(finding.message.split()))} ",
        (printable(f"[{who}]{new}"), "dim"),
    )


def format_time(entry: ScheduleEntry, at: datetime | None) -> str:
    """Return a moment in the time zone of the schedule; `paused` for None."""
    if at is None:
        return "paused"
    return f"{at.astimezone(ZoneInfo(entry.schedule.when.zone)):%Y-%m-%d %H:%M:%S %Z}"


def schedule_table(entries: list[ScheduleEntry]) -> Table:
    """Return a table of schedules."""
    table = plain_table("name", "times", "action", "next run", "now", "last outcome")
    for entry in entries:
        last = entry.last.outcome.value if entry.last else ""
        table.add_row(
            *(
                entry.schedule.name,
                str(entry.schedule.when),
                entry.schedule.description,
                format_time(entry, entry.next_due),
            ),
            *(active_runs(entry), last),
        )
    return table


def active_runs(entry: ScheduleEntry) -> str:
    """Return what runs and what waits of a schedule; empty if there is nothing."""
    running = [f"running {entry.running[:8]}"] if entry.running else []
    return ", ".join([*running, *([f"{entry.queued} waiting"] if entry.queued else [])])


def history_table(entry: ScheduleEntry, records: list[ScheduleRunRecord]) -> Table:
    """Return a table of the runs of a schedule."""
    numbers = ("seconds", "tokens", "usd")
    table = plain_table("due", "outcome", *numbers, "id", "detail", right=numbers)
    for record in records:
        due = format_time(entry, moment_from_ms(record.due_ms))
        table.add_row(
            *(
                f"{due} (run-now)" if record.by_hand else due,
                record.outcome.value,
                f"{record.duration_s:.1f}",
            ),
            *(f"{record.usage.tokens:,}", dollars(record.usage.cost_micros), record.id[:8]),
            Text(printable(record.detail)),
        )
    return table


_SCORE_COLUMNS = ("planted", "found", "recall", "findings", "true", "precision", "F1")


def print_scores(
    evaluation: Evaluation, run: ReviewRun, *, model: str | None, scripted: Mapping[str, Score], as_json: bool
) -> None:
    """Print the scores of a run, and those of scripted reviewers for comparison."""
    if as_json:
        scores = {name: _score_json(score) for name, score in scripted.items()}
        print_json({**_scores_json(evaluation, run, model=model), "scripted": scores})
        return
    table = plain_table("kind", *_SCORE_COLUMNS, right=_SCORE_COLUMNS, pad_edge=True)
    for kind, score in evaluation.kinds.items():
        table.add_row(printable(kind), *_score_cells(score))
    table.add_row(
        f"{count_of(evaluation.clean_files, 'file')} without defects",
        *_score_cells(Score(0, 0, evaluation.clean_findings, 0)),
    )
    table.add_section()
    for name, score in evaluation.sets.items():
        table.add_row(f"set {name}", *_score_cells(score))
    table.add_row("total", *_score_cells(evaluation.total), style="bold")
    table.add_section()
    for reviewer, score in scripted.items():
        table.add_row(f"scripted: {reviewer}", *_score_cells(score), style="dim")
    screen = console()
    screen.print(table)
    for defect in evaluation.missed:
        lines = f"{defect.path}:{defect.start_line}"
        screen.print(printable(f"{lines} missed: {defect.kind} ({defect.set})"), style="dim", markup=False)
    for finding in evaluation.false_findings:
        text = f"{finding.place} not planted: {finding.rule} {' '.join(finding.message.split())}"
        screen.print(printable(text), style="dim", markup=False)
    screen.print(printable(_scores_line(evaluation, run, model)), markup=False, soft_wrap=True)


def _score_cells(score: Score) -> tuple[str, ...]:
    counts = score.planted, score.found, score.findings, score.true_findings
    planted, found_defects, findings, true = map(str, counts)
    shares = _share(score.precision), _share(score.f1 if score.planted else None)
    return planted, found_defects, _share(score.recall), findings, true, *shares


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _scores_line(evaluation: Evaluation, run: ReviewRun, model: str | None) -> str:
    """Return panel, model, state, cost, and the files that were not reviewed."""
    usage = run.usage
    sentences = [f"Panel {run.panel}, {f'model {model}' if model else 'no model'}: {run.state}."]
    sentences += [f"{count_of(usage.tokens, 'token', spec=',')}, {dollars(usage.cost_micros)}. {run.summary}"]
    if evaluation.unreviewed:
        sentences += [f"Not reviewed, so their defects are missed: {', '.join(evaluation.unreviewed)}."]
    return " ".join([*sentences, f"See symposia review show {run.id[:8]}."])


def _scores_json(evaluation: Evaluation, run: ReviewRun, *, model: str | None) -> dict[str, object]:
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
        "missed": [defect.model_dump(mode="json") for defect in evaluation.missed],
        "false_findings": [
            {
                "path": finding.path,
                "line": finding.start_line,
                "rule": finding.rule,
                "message": finding.message,
            }
            for finding in evaluation.false_findings
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
