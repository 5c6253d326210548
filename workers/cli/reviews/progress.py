"""Live output of a review: a progress bar of items, and lines about services and failures."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from ....state.reviews.records import BatchView
from ..common.screen import printable


class ReviewProgress:
    """Context manager that shows the progress bar; without a terminal, only the lines."""

    def __init__(self, console: Console, *, verbose: bool) -> None:
        self._console = console
        self._verbose = verbose
        self._bars = Bars(
            *(SpinnerColumn(), TextColumn("{task.description}", markup=False)),
            *(BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn()),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._bar = self._bars.add_task("reading", total=None)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show_line(self, line: str) -> None:
        """Print a line above the bar."""
        self._console.print(printable(line))

    def show_output(self, name: str, line: str) -> None:
        """Print the output of a program, with --verbose."""
        if self._verbose:
            self._console.print(f"{name} | {printable(line)}", style="dim")

    def show_read_count(self, count: int) -> None:
        """Show the number of items read."""
        self._bars.update(self._bar, description="reading", completed=count)

    def show_progress(self, view: BatchView) -> None:
        """Update the bar."""
        failed = f", {view.failed} failed" if view.failed else ""
        description = (
            "reporting" if view.settled == view.total else f"reviewing, {view.running} running{failed}"
        )
        self._bars.update(self._bar, description=description, total=view.total, completed=view.settled)
