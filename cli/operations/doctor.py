"""`symposia doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import AsJson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.text import Text

    from ..doctor.server_checks import CheckResult


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(
    worker: Annotated[bool, typer.Option("--worker", help="Check only the workers of this host.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check Redis, workers, agents and versions, and report how to fix each problem.

    Exit code 4: sessions cannot run. With --worker: no worker of this host has announced itself within 30 seconds.

    Example: [bold]symposia doctor[/bold]
    """
    from ...config.settings import load_settings
    from ..common.screen import console, print_json
    from ..doctor.checks import run_checks
    from ..doctor.host_workers import check_host_workers
    from ..doctor.server_checks import Grade

    settings = load_settings()
    findings = list(check_host_workers(settings) if worker else run_checks(settings))
    is_well = all(it.grade is not Grade.BAD for it in findings)
    if as_json:
        print_json({"ok": is_well, "findings": [it.to_json() for it in findings]})
    else:
        screen = console()
        screen.print(_report(screen, findings))
    if not is_well:
        raise typer.Exit(4)


def _report(screen: Console, findings: Sequence[CheckResult]) -> Text:
    from rich.text import Text

    from ..common.screen import hanging, printable
    from ..doctor.server_checks import Grade

    marks = {Grade.GOOD: ("✓", "green"), Grade.WARNING: ("!", "yellow"), Grade.BAD: ("✗", "red")}
    lines = []
    for it in findings:
        head = Text.assemble(marks[it.grade], f" {it.subject:<12} ")
        lines.append(hanging(screen, head, Text(printable(it.text))))
        if it.advice:
            advice = Text(printable(it.advice), style="bold" if it.grade is Grade.BAD else "")
            lines.append(hanging(screen, Text(" " * len(head)), advice))
    return Text("\n").join(lines)
