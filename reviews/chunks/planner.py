"""The sessions that review an item together. Pure.

A panel without models, or an item that fits in the window of its models, needs one session. Otherwise the
programs of the panel review the whole item in one session, and its models review each chunk in a session.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...models.modes import mode_of
from ...models.sessions.known_agents import ReaderModel
from ...models.text.numbered_lines import format_ranges, line_ranges, split_lines
from ..values.panels import Panel, Seat, smallest_window
from ..values.runs import Item, ItemPart, PartReaders, ReadItem, SkippedItem
from ..values.tool_settings import ToolSettings
from .form import MAX_SCOPE_RANGES, Section, numbered_opening, plain_opening
from .outline import Outline, outline_of
from .splitter import Chunk, Split, split_item

#: Share of a model's window for the opening message; the rest is for the messages of the session.
_OPENING_SHARE = 0.75
#: Share of the opening message for the context beside the text.
_SECTIONS_SHARE = 0.25
_BYTES_PER_TOKEN = 4
#: Minimum bytes of a chunk. In a smaller window the item is not split; its session fails with the reason.
_MIN_CHUNK_BYTES = 512
#: The agent that sums up the findings of a panel.
_JUDGE = "judge"
ORCHESTRATOR = "orchestrator"


@dataclass(frozen=True, slots=True)
class PlannedSession:
    """A session of an item."""

    item: Item
    opening: str


@dataclass(frozen=True, slots=True)
class ItemPlan:
    """The sessions of an item, and lines that no model can be shown."""

    item: Item
    sessions: tuple[PlannedSession, ...]
    skipped: tuple[SkippedItem, ...] = ()


#: Function that returns context of an item, the most important first.
FindSections = Callable[[ReadItem, Outline], Sequence[Section]]


@dataclass(frozen=True, slots=True)
class SessionPlanner:
    """Planner of the sessions of a batch."""

    panel: Panel
    #: Models in the seats of the panel, by name of the seat.
    readers: Mapping[str, ReaderModel]
    find_sections: FindSections = lambda _read, _outline: ()
    #: Settings of the reviewed project for its programs.
    settings: ToolSettings = ToolSettings()  # noqa: RUF009 - frozen

    def plan(self, read: ReadItem) -> ItemPlan:
        """Return the sessions of an item."""
        read = read.with_settings_sha(self.settings.sha_for_path(read.item.path, read.text))
        item, text = read.item, read.text
        if not self.readers:
            return ItemPlan(item, (PlannedSession(item, plain_opening(item, text)),))
        outline, lines = outline_of(item.path, text), split_lines(text)
        room = int(smallest_window(self.readers) * _OPENING_SHARE) * _BYTES_PER_TOKEN
        sections = _fit_sections(self.find_sections(read, outline), int(room * _SECTIONS_SHARE))
        left = room - len(numbered_opening(_widest(item, lines), Chunk(()), sections=sections).encode())
        split = split_item(
            lines,
            outline,
            changed=item.changed,
            max_bytes=left if left >= _MIN_CHUNK_BYTES else len(text) * 16 + room,
        )
        planned = self._sessions(read, split, sections, lines)
        shown = hashlib.sha256("\0".join(session.opening for session in planned).encode()).hexdigest()
        item = item.model_copy(update={"shown": shown})
        sessions = tuple(
            PlannedSession(session.item.model_copy(update={"shown": shown}), session.opening)
            for session in planned
        )
        return ItemPlan(item, sessions, _skipped(item, split))

    def _sessions(
        self, read: ReadItem, split: Split, sections: Sequence[Section], lines: Sequence[str]
    ) -> list[PlannedSession]:
        item, chunks = read.item, split.chunks
        if len(chunks) == 1 and len(chunks[0].lines) == len(lines):
            return [PlannedSession(item, numbered_opening(item, chunks[0], sections=sections))]
        planned: list[PlannedSession] = []
        with_programs = bool(program_seats(self.panel.for_path(item.path), self.readers))
        count = len(chunks) + with_programs
        if with_programs:
            part = ItemPart(number=1, count=count, readers=PartReaders.PROGRAMS)
            whole = item.model_copy(update={"part": part})
            planned.append(PlannedSession(whole, plain_opening(whole, read.text)))
        for number, chunk in enumerate(chunks, start=len(planned) + 1):
            part = ItemPart(number=number, count=count, readers=PartReaders.MODELS, lines=chunk.reviewed)
            piece = item.model_copy(update={"part": part})
            planned.append(PlannedSession(piece, numbered_opening(piece, chunk, sections=sections)))
        return planned


def panel_of_part(panel: Panel, readers: Mapping[str, ReaderModel], part: ItemPart | None) -> Panel:
    """Return the panel of a session: all of it, its programs, or its models with those who lead them."""
    if part is None:
        return panel
    if part.readers is PartReaders.PROGRAMS:
        return panel.model_copy(update={"seats": program_seats(panel, readers)})
    left_out = {seat.name for seat in program_seats(panel, readers) if not leads(seat)}
    return panel.model_copy(
        update={"seats": tuple(seat for seat in panel.seats if seat.name not in left_out)}
    )


def program_seats(panel: Panel, readers: Mapping[str, ReaderModel]) -> tuple[Seat, ...]:
    """Return the seats of a session of the panel's programs; empty if there is no such session.

    In a pair the program reviews what the model says. A panel that a model leads has no session without it.
    """
    programs = tuple(seat for seat in panel.seats if seat.name not in readers)
    led_by_model = any(seat.role == ORCHESTRATOR and seat.name in readers for seat in panel.seats)
    if mode_of(panel.mode).has_navigator or led_by_model or all(map(leads, programs)):
        return ()
    return programs


def leads(seat: Seat) -> bool:
    """Return whether a seat leads a session, or judges what the others say."""
    return seat.agent == _JUDGE or seat.role == ORCHESTRATOR


def _widest(item: Item, lines: Sequence[str]) -> Item:
    """Return the item as a part with a long scope, so that the opening of no part is longer."""
    many = 10**6 + len(lines)
    scope = ((many, many + 1),) * MAX_SCOPE_RANGES
    part = ItemPart(number=many, count=many, readers=PartReaders.MODELS, lines=scope)
    return item.model_copy(update={"part": part})


def _fit_sections(sections: Sequence[Section], room: int) -> list[Section]:
    """Return the sections cut to the room, the first ones first."""
    kept: list[Section] = []
    for section in sections:
        text = section.text.encode()[: max(room - len(section.title.encode()), 0)].decode(errors="ignore")
        if text.strip():
            kept.append(Section(section.title, text))
            room -= len(section.title.encode()) + len(text.encode())
    return kept


def _skipped(item: Item, split: Split) -> tuple[SkippedItem, ...]:
    reason = "the line is longer than the window of the model"
    return tuple(
        SkippedItem(path=f"{item.path}:{format_ranges([line_range])}", reason=reason)
        for line_range in line_ranges(split.skipped)
    )
