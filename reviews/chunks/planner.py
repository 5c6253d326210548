"""The sessions that review an item together. Pure.

A panel without models, or a file that fits in the window of its models, needs one session. Otherwise the
programs of the panel review the whole item in one session, and its models review each chunk in a session.

Of a change, models are shown the changed lines only: several files are reviewed in one session, so that the guide is
sent once for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...models.modes import mode_of
from ...models.sessions.known_agents import ReaderModel
from ...models.text.numbered_lines import format_ranges, line_ranges, split_lines
from ...models.text.paths import MAX_PATH
from ...models.turns.message_lists import estimate_tokens
from ..values.changes import ChangeDescription, Hunk
from ..values.panels import Panel, Seat
from ..values.runs import Item, ItemKind, ItemPart, PartReaders, ReadItem, SkippedItem
from ..values.tool_settings import ToolSettings
from .change_lines import change_lines, split_change
from .form import (
    MAX_OVERVIEW_BYTES,
    MAX_SCOPE_RANGES,
    Section,
    change_of_file,
    change_opening,
    change_overview,
    numbered_opening,
    plain_opening,
)
from .outline import Outline, outline_of
from .project import Project
from .request_guide import JUDGE, RequestGuide
from .splitter import Chunk, Split, split_item

#: Share of the room for a request for the context beside the text of an item.
_SECTIONS_SHARE = 0.1
#: Bytes of the files of a change that are reviewed in one session.
MAX_TOGETHER_BYTES = 32_768
#: Tokens of the files of a change from which models are shown the whole guide; the small one has as many.
MAX_SMALL_CHANGE_TOKENS = 800
#: Maximum bytes of the context beside one file of a change, by the bytes of its lines.
_CHANGE_CONTEXT_SHARE = 0.5
#: Minimum bytes of a chunk. In a smaller window the item is not split; its session fails with the reason.
_MIN_CHUNK_BYTES = 512
_DELETED = "deleted: the programs of the panel read present files only"
ORCHESTRATOR = "orchestrator"


@dataclass(frozen=True, slots=True)
class PlannedSession:
    """A session of an item."""

    item: Item
    opening: str
    #: What models are shown before it; the same in all sessions of a batch that have one.
    guide: str = ""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file of a change, or a part of one, for a session with others."""

    item: Item
    text: str


@dataclass(frozen=True, slots=True)
class ItemPlan:
    """The sessions of an item, its parts for sessions with other items, and lines that no model can be shown."""

    item: Item
    sessions: tuple[PlannedSession, ...]
    changed: tuple[ChangedFile, ...] = ()
    skipped: tuple[SkippedItem, ...] = ()


@dataclass(frozen=True)
class SessionPlanner:
    """Planner of the sessions of a batch."""

    panel: Panel
    #: Models in the seats of the panel, by name of the seat.
    readers: Mapping[str, ReaderModel]
    #: Folder and rules of the items; None: there is no folder.
    project: Project | None = None
    #: Settings of the reviewed project for its programs.
    settings: ToolSettings = ToolSettings()  # noqa: RUF009 - frozen
    #: What is said of the change that is reviewed; None: whole files are reviewed.
    change: ChangeDescription | None = None

    @cached_property
    def _request(self) -> RequestGuide:
        project = self.project or Project(self.panel)
        return RequestGuide(self.panel, self.readers, project, is_change=self.change is not None)

    @property
    def guide(self) -> str:
        """What models are shown before the text of every item; empty without models."""
        return self._request.text if self.readers else ""

    def _session(self, item: Item, opening: str) -> PlannedSession:
        return PlannedSession(item, opening, self.guide)

    def plan(self, read: ReadItem) -> ItemPlan:
        """Return the sessions of an item."""
        read = read.with_settings_sha(self.settings.sha_for_path(read.item.path, read.text))
        item, text = read.item, read.text
        if not self.readers:
            if item.kind is ItemKind.DELETED or not text.strip():
                reason = _DELETED if item.kind is ItemKind.DELETED else "empty"
                return ItemPlan(item, (), skipped=(SkippedItem(path=item.path, reason=reason),))
            return ItemPlan(item, (PlannedSession(item, plain_opening(item, text)),))
        if item.is_change:
            return self._plan_change(read)
        outline, lines = outline_of(item.typed_path, text), split_lines(text)
        sections_room = int(self._request.room * _SECTIONS_SHARE)
        sections = self._sections(read, text, sections_room)
        # What is set aside does not depend on what is shown there, so that a chunk changes only with its text.
        left = self._request.room - self._request.guide_room - sections_room
        left -= len(numbered_opening(_widest(item, lines), Chunk(())).encode())
        most = left if left >= _MIN_CHUNK_BYTES else len(text) * 16 + self._request.room
        split = split_item(lines, outline, max_bytes=most)
        planned = self._sessions(read, split, sections, lines)
        shown = self._digest(session.opening for session in planned)
        sessions = tuple(replace(each, item=_with_shown(each.item, shown)) for each in planned)
        return ItemPlan(_with_shown(item, shown), sessions, skipped=_skipped(item, split.skipped))

    def _digest(self, texts: Iterable[str]) -> str:
        """Return the hash of what an item's findings depend on: its texts and the rules, not the map or callers."""
        return hashlib.sha256("\0".join([self._request.rules, *texts]).encode()).hexdigest()

    def _sections(self, read: ReadItem, shown: str, room: int) -> list[Section]:
        """Return the rules for the path of an item, and the signatures of what it uses of other files."""
        rules = "\n".join(rule.text for rule in self.panel.rules if rule.applies_to(read.item.path))
        signatures = self._request.project.signatures(read, shown)
        sections = (Section("Rules for this file:", rules), Section("Used from other files:", signatures))
        return _fit_sections(sections, room)

    def _plan_change(self, read: ReadItem) -> ItemPlan:
        """Return the plan of a changed, new, renamed or deleted file."""
        item, lines = read.item, split_lines(read.text)
        is_deleted = item.kind is ItemKind.DELETED
        outline = Outline() if is_deleted else outline_of(item.typed_path, read.text)
        hunks = read.hunks if read.hunks is not None else (Hunk(1, 0, (), 1, len(lines)),)
        changed = change_lines([] if is_deleted else lines, outline, hunks)
        shown = changed.render()
        room = min(
            int(self._request.room * _SECTIONS_SHARE),
            int(len(shown) * _CHANGE_CONTEXT_SHARE) + _MIN_CHUNK_BYTES,
        )
        sections = self._sections(read, shown, room // 2)
        callers = self._request.project.callers(read, outline)
        with_callers = _fit_sections((Section("Callers of what changed:", callers),), room // 2)
        most = self._together_room
        parts, skipped = split_change(changed, most) if most else ([changed], [])
        parts = parts or ([] if skipped else [changed])  # a renamed file may have no changed line
        with_programs = (
            not is_deleted
            and bool(read.text.strip())
            and bool(program_seats(self.panel.for_path(item.typed_path), self.readers))
        )
        item = _with_shown(item, self._digest([shown, *(section.text for section in sections)]))
        count = len(parts) + with_programs
        sessions: list[PlannedSession] = []
        if with_programs:
            whole = _with_part(item, ItemPart(number=1, count=count, readers=PartReaders.PROGRAMS))
            sessions.append(PlannedSession(whole, plain_opening(whole, read.text)))
        files: list[ChangedFile] = []
        for number, part in enumerate(parts, start=1 + with_programs):
            lines_of_part = part.reviewed if len(parts) > 1 else ()
            piece = _with_part(
                item, ItemPart(number=number, count=count, readers=PartReaders.MODELS, lines=lines_of_part)
            )
            text = change_of_file(piece, part.render(), sections=[*sections, *with_callers])
            files.append(ChangedFile(piece, text))
        return ItemPlan(item, tuple(sessions), tuple(files), _skipped(item, skipped))

    @cached_property
    def _together_room(self) -> int:
        """Bytes of the files of one session of a change; 0: the window is too small to split anything."""
        sections_room = int(self._request.room * _SECTIONS_SHARE)
        left = self._request.room - self._request.guide_room - sections_room - self._overview_room
        return min(left, MAX_TOGETHER_BYTES) if left >= _MIN_CHUNK_BYTES else 0

    @property
    def _overview_room(self) -> int:
        return min(MAX_OVERVIEW_BYTES, int(self._request.room * _SECTIONS_SHARE))

    def together(
        self, files: Sequence[ChangedFile], items: Sequence[Item], skipped: Sequence[SkippedItem]
    ) -> list[PlannedSession]:
        """Return the sessions in which models review files of a change.

        Args:
            files: The files to review; a panel without models has none.
            items: All files of the change.
            skipped: What is not reviewed.
        """
        if not files:
            return []
        overview = change_overview(self.change or ChangeDescription(), items, skipped)
        overview = overview.encode()[: self._overview_room].decode(errors="ignore")
        # In a pair, and in a panel that a model leads, the programs take part: they read one text.
        most = 0 if _programs_join_models(self.panel, self.readers) else self._together_room
        groups: list[list[ChangedFile]] = []
        size = 0
        for file in files:
            cost = len(file.text.encode())
            if not groups or size + cost > most:
                groups.append([])
                size = 0
            groups[-1].append(file)
            size += cost
        is_small = (
            len(groups) == 1 and sum(estimate_tokens(file.text) for file in files) < MAX_SMALL_CHANGE_TOKENS
        )
        guide = self._request.small_text if is_small else self.guide
        return [self._together(group, overview, guide) for group in groups]

    def _together(self, files: Sequence[ChangedFile], overview: str, guide: str) -> PlannedSession:
        opening = change_opening(overview, [file.text for file in files])
        first = files[0].item
        if len(files) == 1:
            return PlannedSession(first, opening, guide)
        more = f" and {len(files) - 1} more"
        item = Item(
            key=first.key,
            kind=ItemKind.CHANGE,
            path=first.path[: MAX_PATH - len(more)] + more,
            sha256=hashlib.sha256(opening.encode()).hexdigest(),
            size=len(opening.encode()),
            part=ItemPart(number=1, count=1, readers=PartReaders.MODELS),
            together=tuple(file.item for file in files),
        )
        return PlannedSession(item, opening, guide)

    def _sessions(
        self, read: ReadItem, split: Split, sections: Sequence[Section], lines: Sequence[str]
    ) -> list[PlannedSession]:
        item, chunks = read.item, split.chunks
        if len(chunks) == 1 and len(chunks[0].lines) == len(lines):
            return [self._session(item, numbered_opening(item, chunks[0], sections=sections))]
        planned: list[PlannedSession] = []
        with_programs = bool(program_seats(self.panel.for_path(item.typed_path), self.readers))
        count = len(chunks) + with_programs
        if with_programs:
            part = ItemPart(number=1, count=count, readers=PartReaders.PROGRAMS)
            whole = _with_part(item, part)
            planned.append(PlannedSession(whole, plain_opening(whole, read.text)))
        for number, chunk in enumerate(chunks, start=len(planned) + 1):
            part = ItemPart(number=number, count=count, readers=PartReaders.MODELS, lines=chunk.reviewed)
            piece = _with_part(item, part)
            planned.append(self._session(piece, numbered_opening(piece, chunk, sections=sections)))
        return planned


def _with_part(item: Item, part: ItemPart) -> Item:
    return item.model_copy(update={"part": part})


def _with_shown(item: Item, shown: str) -> Item:
    return item.model_copy(update={"shown": shown})


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
    return () if _programs_join_models(panel, readers) or all(map(leads, programs)) else programs


def _programs_join_models(panel: Panel, readers: Mapping[str, ReaderModel]) -> bool:
    """Return whether programs take part in the sessions of models: in a pair, and in a panel that a model leads."""
    led_by_model = any(seat.role == ORCHESTRATOR and seat.name in readers for seat in panel.seats)
    return mode_of(panel.mode).has_navigator or led_by_model


def leads(seat: Seat) -> bool:
    """Return whether a seat leads a session, or judges what the others say."""
    return seat.agent == JUDGE or seat.role == ORCHESTRATOR


def _widest(item: Item, lines: Sequence[str]) -> Item:
    """Return the item as a part with a long scope, so that the opening of no part is longer."""
    many = 10**6 + len(lines)
    scope = ((many, many + 1),) * MAX_SCOPE_RANGES
    part = ItemPart(number=many, count=many, readers=PartReaders.MODELS, lines=scope)
    return _with_part(item, part)


def _fit_sections(sections: Sequence[Section], room: int) -> list[Section]:
    """Return the sections cut to the room, the first ones first."""
    kept: list[Section] = []
    for section in sections:
        text = section.text.encode()[: max(room - len(section.title.encode()), 0)].decode(errors="ignore")
        if text.strip():
            kept.append(Section(section.title, text))
            room -= len(section.title.encode()) + len(text.encode())
    return kept


def _skipped(item: Item, numbers: Iterable[int]) -> tuple[SkippedItem, ...]:
    reason = "the line is longer than the window of the model"
    return tuple(
        SkippedItem(path=f"{item.path}:{format_ranges([line_range])}", reason=reason)
        for line_range in line_ranges(numbers)
    )
