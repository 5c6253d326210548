"""Sessions in notebooks: the dialog as it grows, and the progress of several sessions.

IPython is not imported: it is used if this process runs in one of its kernels.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, Self

from ..models.protocol.dialog import Message, dialog_html
from .kernel import current_cell, is_notebook
from .result import JobResult

_BAR_WIDTH = 30


class LiveDisplay:
    """An output of a notebook that shows the dialog of a session, and is updated with each message.

    Must be created in the kernel of a notebook.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._messages: list[Message] = []
        self._output = _Output(self._html())

    def add(self, message: Message) -> None:
        """Show another message."""
        self._messages.append(message)
        self._output.show(self._html())

    def finish(self, result: JobResult) -> JobResult:
        """Show how the session ended, and return the result, which this cell does not show again."""
        self._output.show(result.to_html())
        return replace(result, shown_in_cell=current_cell())

    def _html(self) -> str:
        return dialog_html(self._title, self._messages, status="running")


class ProgressBar:
    """A bar of steps that are done, in a notebook or on a terminal.

    Args:
        total: Number of steps.
        wanted: Whether it is shown. None: in a notebook, and if standard error is a terminal.
    """

    def __init__(self, total: int, *, wanted: bool | None) -> None:
        self._total, self._done = total, 0
        self._is_wanted = (is_notebook() or sys.stderr.isatty()) if wanted is None else wanted
        self._output: _Output | None = None

    def __enter__(self) -> Self:
        if self._is_wanted and is_notebook():
            self._output = _Output(self._html())
        else:
            self._print()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_wanted and self._output is None:
            sys.stderr.write("\n")

    def advance(self) -> None:
        """Show that another step is done."""
        self._done += 1
        if self._output is not None:
            self._output.show(self._html())
        else:
            self._print()

    def _print(self) -> None:
        if self._is_wanted:
            bar = "#" * (_BAR_WIDTH * self._done // max(self._total, 1))
            sys.stderr.write(f"\r[{bar:{_BAR_WIDTH}}] {self._done}/{self._total}")
            sys.stderr.flush()

    def _html(self) -> str:
        return f'<progress value="{self._done}" max="{self._total}"></progress> {self._done}/{self._total}'


class _Output:
    """An output of a cell whose HTML can be replaced."""

    def __init__(self, html: str) -> None:
        self._handle: Any = sys.modules["IPython"].display.display(_Html(html), display_id=True)

    def show(self, html: str) -> None:
        """Replace the HTML."""
        self._handle.update(_Html(html))


class _Html:
    """An object that notebooks show as HTML."""

    def __init__(self, html: str) -> None:
        self._repr_html_ = lambda: html
