"""Partial output of open turns on a terminal: below the dialog, above the progress line, redrawn as it grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import Progress, ProgressColumn
from rich.text import Text

from ....models.turns.deltas import Drafts, LiveDraft
from ..common.screen import ParticipantNames, dialog_line, printable

#: Maximum number of lines shown per draft, counted from the newest.
_LINES = 6
#: Maximum number of drafts shown.
_MAX_DRAFTS = 4


class DraftProgress(Progress):
    """Progress line with the drafts of the open turns above it; shown only on a terminal."""

    def __init__(self, *columns: ProgressColumn, console: Console, cast: ParticipantNames) -> None:
        self.drafts = Drafts()
        self._screen = console
        self._cast = cast
        options: dict[str, Any] = {"transient": True, "disable": not console.is_terminal}
        super().__init__(*columns, console=console, **options)

    def get_renderables(self) -> Iterable[RenderableType]:
        """As in Progress."""
        yield from self.render_drafts()
        yield from super().get_renderables()

    def render_drafts(self) -> Iterator[Text]:
        """Yield the drafts, one paragraph each."""
        for draft in [*self.drafts][:_MAX_DRAFTS]:
            yield self._render_draft(draft)

    def _render_draft(self, draft: LiveDraft) -> Text:
        # Only the end fits on the screen, so only the end is wrapped, ten times a second.
        end = Text(printable(draft.text[-_LINES * self._screen.width :]), style="dim")
        lines = dialog_line(
            self._screen, draft.turn_number, self._cast.styled_name(draft.participant_id), end
        ).split("\n")
        return Text("\n").join(lines if len(lines) <= _LINES else [lines[0], *lines[-_LINES + 1 :]])
