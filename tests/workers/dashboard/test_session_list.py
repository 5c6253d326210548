"""The session list in memory: order of changes, bounds, and readers that reconnect."""

from __future__ import annotations

from typing import Any

from symposia.workers.dashboard.live import session_list
from symposia.workers.dashboard.live.session_list import SessionList


def row(name: str, position: str, *, ended_ms: int | None = None) -> Any:
    status = "active" if ended_ms is None else "completed"
    return {"id": name, "status": status, "attention": None, "position": position, "ended_ms": ended_ms}


def test_changes_are_read_by_revision_and_position():
    sessions = SessionList()
    for name, position in (("a", "5-0"), ("b", "6-0"), ("a", "7-0"), ("c", "7-1")):
        sessions.put(row(name, position))
    assert [it.row["id"] for it in sessions.changed_after(2)] == ["a", "c"]
    assert [it.row["id"] for it in sessions.changed_since("6-9")] == ["b", "a", "c"]
    assert sessions.position == "7-1"
    assert sessions.counts["active"] == 3
    revision = sessions.revision
    sessions.remove("b")
    assert sessions.removed_after(revision) == ["b"]
    assert sessions.counts["active"] == 2


def test_oldest_ended_sessions_are_dropped(monkeypatch):
    monkeypatch.setattr(session_list, "KEPT_ENDED", 2)
    sessions = SessionList()
    sessions.put(row("open", "1-0"))
    for number in range(2, 6):
        sessions.put(row(f"s{number}", f"{number}-0", ended_ms=number))
    assert sessions.has_all_since("0-0")
    sessions.drop_old()
    assert sorted(it["id"] for it in sessions.rows()) == ["open", "s4", "s5"]
    assert not sessions.has_all_since("2-9")
    assert sessions.has_all_since("3-0")
    sessions.mark_incomplete(9)
    assert not sessions.has_all_since("5-0")
    assert sessions.has_all_since(sessions.position)
