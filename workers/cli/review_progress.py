"""A review on the screen while it runs: a bar of items, and lines of what is started or goes wrong."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from ...state.review_records import BatchView
from .screen import printable


class Progress:
    """A context: the bar lasts as long as it does. Where there is no terminal only the lines are shown."""

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

    def say(self, line: str) -> None:
        """Shows a line above the bar."""
        self._console.print(printable(line))

    def heard(self, name: str, line: str) -> None:
        """Shows what a program prints, when everything is wanted."""
        if self._verbose:
            self._console.print(f"{name} | {printable(line)}", style="dim")

    def reading(self, count: int) -> None:
        """Tells how many items were read."""
        self._bars.update(self._bar, description="reading", completed=count)

    def reviewing(self, view: BatchView) -> None:
        """Moves the bar."""
        failed = f", {view.failed} failed" if view.failed else ""
        description = (
            "reporting" if view.settled == view.total else f"reviewing, {view.running} at once{failed}"
        )
        self._bars.update(self._bar, description=description, total=view.total, completed=view.settled)
