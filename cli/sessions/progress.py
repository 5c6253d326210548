"""Progress of a live session: counts from its events, expected length, and partial output of open turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import Progress, ProgressColumn
from rich.text import Text

from ...models.modes import mode_of
from ...models.protocol.collab import Collab
from ...models.protocol.events import MapEvent, MAPEventType
from ...models.sessions.spec import SessionSpec
from ...models.turns.streaming import Drafts, LiveDraft
from ...tasks.sessions.task_tree import GrantEnd
from ..common.dialog_lines import ParticipantNames, dialog_line
from ..common.screen import printable

#: Turn limits above this number are only for safety, and are not the expected length.
_NO_LENGTH = 5_000


@dataclass(slots=True)
class ProgressCounter:
    """Closed turns, used tokens, and the participants of open turns."""

    turns: int = 0
    tokens: int = 0
    #: Participant ids by the token under which they speak.
    speaking: dict[str, str] = field(default_factory=dict)

    def count_event(self, event: MapEvent) -> None:
        """Count one event."""
        payload = event.payload or {}
        if event.event_type is MAPEventType.TURN_DISPATCHED:
            self.speaking[str(payload.get("token_id"))] = str(payload.get("participant_id"))
        elif event.event_type is MAPEventType.TURN_COMPLETED:
            end = GrantEnd.from_event(event)
            self.speaking.pop(end.token_id, None)
            self.turns += end.is_final
            self.tokens += end.tokens


def expected_turns(collab: Collab, spec: SessionSpec) -> int | None:
    """Return the number of turns if nothing ends the session early; None if unknown."""
    length = spec.stop.expected_turns(_turns_a_round(collab))
    return length if length is not None and length <= _NO_LENGTH else None


def _turns_a_round(collab: Collab) -> int | None:
    """Return the turns per round in modes with equal rounds, else None."""
    return len(collab.participants) if mode_of(collab.mode).one_turn_each else None


#: Maximum number of lines shown per draft, counted from the newest.
_LINES = 6
#: Maximum number of drafts shown.
_MAX_DRAFTS = 4


class DraftProgress(Progress):
    """Progress line with the drafts of the open turns above it; shown only on a terminal."""

    def __init__(
        self, *columns: ProgressColumn, console: Console, cast: ParticipantNames, drafts: Drafts
    ) -> None:
        self.drafts = drafts
        self._screen = console
        self._cast = cast
        options: dict[str, Any] = {"transient": True, "disable": not console.is_terminal}
        super().__init__(*columns, console=console, **options)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the drafts, followed by the progress line."""
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
