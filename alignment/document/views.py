"""Views of a document: participants, perspectives and tensions of its tables; a JSON summary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...models.alignment.marker_refs import read_refs
from ...models.alignment.vocabulary import DIMENSIONS, STATUS_WORDS, MarkerType, TensionState
from .headings.names import Expert
from .markers.markers import Marker
from .model import AlignmentDialogue, names_of
from .parts import Round
from .reading.scoreboards import Scoreboard, scoreboards
from .tables import Table, columns_of, numbered_rows
from .text.line_text import plain


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the perspectives inventory or of the tensions tracker, cells by the header's names in lower case."""

    id: str
    text: str
    agent: str
    round: str
    status: str
    line: int

    @property
    def state(self) -> TensionState | None:
        """State of a tension in the status cell; None for an unknown word."""
        return read_state(self.status)


@dataclass(frozen=True, slots=True)
class Tension:
    """A tension with its state, by the tracker where there is one and by the markers otherwise."""

    id: str
    label: str
    state: TensionState
    agent: str | None = None
    round: int | None = None


def panel(document: AlignmentDialogue) -> tuple[Expert, ...]:
    """Return the experts, without the judge."""
    return tuple(names_of(document.metadata, document.preamble, document.parts).experts.values())


def perspectives(document: AlignmentDialogue) -> tuple[Entry, ...]:
    """Return the rows of the perspectives inventory."""
    return tuple(_entries(document, "perspective", {"perspective"}))


def tracked_tensions(document: AlignmentDialogue) -> tuple[Entry, ...]:
    """Return the rows of the tensions tracker."""
    return tuple(_entries(document, "tension", {"tension", "status"}))


def _entries(document: AlignmentDialogue, text: str, needed: set[str]) -> Iterator[Entry]:
    for part in document.parts:
        for block in part.blocks if not isinstance(part, Round) else ():
            columns = columns_of(block)
            if not isinstance(block, Table) or not needed | {"id"} <= columns.keys():
                continue
            for row, line in numbered_rows(block):
                cells = {name: row[at] if at < len(row) else "" for name, at in columns.items()}
                agent = next(
                    (
                        cells[name]
                        for name in ("agent", "raised by", "raised", "surfaced by")
                        if name in cells
                    ),
                    "",
                )
                found = read_id(cells["id"])
                if found:
                    status = cells.get("status", "")
                    yield Entry(found, cells[text], agent, cells.get("round", ""), status, line)


def read_id(cell: str) -> str | None:
    """Return the normalised id of a cell, or None for a dash or anything else."""
    refs = read_refs(plain(cell), strict=True).found
    return refs[0].id if refs else None


def read_state(status: str) -> TensionState | None:
    """Return the state that a status cell says: `**Resolved**`, `✓ RESOLVED (R1)`, `Open`."""
    text = plain(status).casefold()
    found = [(text.find(word), state) for word, state in STATUS_WORDS if word in text]
    return min(found, key=lambda pair: pair[0])[1] if found else None


def tensions(document: AlignmentDialogue) -> tuple[Tension, ...]:
    """Return every tension: those of the tracker, then those that only markers name, each with its state."""
    markers = document.markers
    states: dict[str, TensionState] = {}
    for said in markers:
        for ref in said.refs:
            if said.type is MarkerType.RESOLVED:
                states[ref.id] = TensionState.RESOLVED
            elif said.type is MarkerType.TENSION and states.get(ref.id) is TensionState.RESOLVED:
                states[ref.id] = TensionState.REOPENED
    raised = {
        ref.id: marker
        for marker in reversed(markers)
        if marker.type is MarkerType.TENSION
        for ref in marker.refs
    }
    rows = {row.id: row for row in tracked_tensions(document)}
    found = []
    for name in dict.fromkeys((*rows, *reversed(raised))):
        row, marker = rows.get(name), raised.get(name)
        state = (row.state if row else None) or states.get(name, TensionState.OPEN)
        label = plain(row.text) if row else marker.label if marker else ""
        agent, number = (marker.agent, marker.round) if marker else (None, None)
        found.append(Tension(name, label, state, agent, number))
    return tuple(found)


def summary(document: AlignmentDialogue) -> dict[str, Any]:
    """Return title, metadata, panel, rounds, markers, scoreboards, perspectives, tensions and sections."""
    return {
        "title": document.title,
        "metadata": [{"key": it.key, "value": it.value, "form": it.form.value} for it in document.metadata],
        "panel": [{"name": it.name, "emoji": it.emoji, "role": it.role} for it in panel(document)],
        "rounds": [_round(it) for it in document.rounds],
        "markers": [_marker(it) for it in document.markers],
        "scoreboards": [_scoreboard(it) for it in scoreboards(document)],
        "perspectives": [
            {"id": it.id, "perspective": it.text, "agent": it.agent, "round": it.round, "line": it.line}
            for it in perspectives(document)
        ],
        "tensions": [
            {"id": it.id, "label": it.label, "state": it.state.value, "agent": it.agent, "round": it.round}
            for it in tensions(document)
        ],
        "judge": [{"label": it.label, "line": it.line} for it in document.judge],
        "sections": [{"title": it.title, "line": it.line} for it in document.sections],
    }


def _round(part: Round) -> dict[str, Any]:
    return {"number": part.number, "label": part.label, "line": part.line, "agents": list(part.agents)}


def _marker(marker: Marker) -> dict[str, Any]:
    return {
        "type": marker.type.value,
        "ids": list(marker.ids),
        "refs": [str(ref) for ref in marker.refs],
        "label": marker.label,
        "agent": marker.agent,
        "round": marker.round,
        "line": marker.line,
        "column": marker.column,
    }


def _scoreboard(board: Scoreboard) -> dict[str, Any]:
    names = [name.lower() for name in DIMENSIONS]
    rows = [
        {"name": row.name, **dict(zip(names, row.scores, strict=True)), "total": row.total, "line": row.line}
        for row in board.rows
    ]
    return {"line": board.table.line, "round": board.round, "rows": rows, "total": board.total}
