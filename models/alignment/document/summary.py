"""Summary of a document as JSON data: counts, ids and labels, without the bodies."""

from __future__ import annotations

from typing import Any

from .markers.markers import Marker
from .model import AlignmentDialogue
from .parts import Round
from .reading.scoreboards import Scoreboard, scoreboards
from .text.vocabulary import DIMENSIONS
from .views import panel, perspectives, tensions


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
