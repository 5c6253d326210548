"""Attention of sessions in the pages: fields of rows. Pure.

`jobs/conditions.py` judges the sessions.
"""

from __future__ import annotations

from ...jobs.conditions import Condition
from .collab_row import CollabRow, Speaker


def with_condition(row: CollabRow, condition: Condition) -> CollabRow:
    """Return a row with the attention of a condition."""
    speakers: list[Speaker] = [
        {**speaker, "state": "lost"} if speaker["turn"] in condition.lost_turns else speaker
        for speaker in row["speakers"]
    ]
    return {
        **row,
        "speakers": speakers,
        "attention": condition.attention,
        "attention_text": condition.list_text(),
        "attention_next": condition.then or None if condition.attention else None,
        "attention_since_ms": condition.since_ms if condition.attention else None,
        "attention_due_ms": condition.due_ms if condition.attention else None,
    }
