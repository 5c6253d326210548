"""The session list in memory: order of changes, bounds, and readers that reconnect."""

from __future__ import annotations

from typing import Any

from symposia.dashboard.live import session_list
from symposia.dashboard.live.session_list import OVERLAP_MS, Changes, Cursor, SessionList, read_cursor


def row(name: str, position: str, *, ended_ms: int | None = None) -> Any:
    status = "active" if ended_ms is None else "completed"
    return {
        "id": name,
        "status": status,
        "shown": status,
        "attention": None,
        "position": position,
        "ended_ms": ended_ms,
    }


def ids(changes: Changes) -> list[str]:
    return [it.row["id"] for it in changes.rows]


def test_changes_are_read_by_revision_and_position():
    sessions = SessionList()
    for name, position in (("a", "5-0"), ("b", "6-0"), ("a", "7-0"), ("c", "7-1")):
        sessions.put(row(name, position))
    assert [it.row["id"] for it in sessions.changed_after(2)] == ["a", "c"]
    assert ids(sessions.changes_since(Cursor("10007-0"))) == ["a", "c"]
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
    assert sessions.changes_since(Cursor("0-0")).is_complete
    loaded = sessions.cursor
    sessions.drop_old()
    assert sorted(it["id"] for it in sessions.rows()) == ["open", "s4", "s5"]
    assert not sessions.changes_since(Cursor("2-9")).is_complete
    assert sessions.changes_since(Cursor("3-0")).is_complete
    assert sessions.changes_since(loaded).is_complete
    assert not sessions.changes_since(loaded._replace(revision=2)).is_complete
    sessions.mark_incomplete(9)
    assert not sessions.changes_since(Cursor("5-0")).is_complete
    assert sessions.changes_since(sessions.cursor).is_complete
    assert sessions.changes_since(Cursor(sessions.position)).is_complete


def test_equal_row_is_no_change():
    sessions = SessionList()
    sessions.put(row("a", "5-0", ended_ms=5))
    loaded = sessions.cursor
    sessions.put(row("a", "5-0", ended_ms=5))
    assert sessions.cursor == loaded
    assert sessions.has_ended("a")
    sessions.put(row("a", "6-0", ended_ms=5))
    assert ids(sessions.changes_since(loaded)) == ["a"]


def test_late_rows_reach_pages_that_have_newer_ones():
    sessions = SessionList()
    sessions.put(row("a", "2000-0"))
    seen = read_cursor(str(sessions.cursor), name="after")
    sessions.put(row("b", "1990-0"))
    assert ids(sessions.changes_since(seen)) == ["b"]
    assert ids(sessions.changes_since(sessions.cursor)) == []
    # The page of a process that was started again has the position only.
    other = Cursor(str(OVERLAP_MS + 1990), "0", 7)
    assert ids(sessions.changes_since(other)) == ["a", "b"]
    assert ids(sessions.changes_since(Cursor(str(OVERLAP_MS + 1991)))) == ["a"]


def test_removed_rows_are_reported_to_late_pages(monkeypatch):
    monkeypatch.setattr(session_list, "KEPT_ENDED", 2)
    sessions = SessionList()
    for name in "abcd":
        sessions.put(row(name, "5-0"))
    loaded = sessions.cursor
    sessions.remove("a")
    sessions.remove("b")
    sessions.put(row("b", "6-0"))
    changes = sessions.changes_since(loaded)
    assert (ids(changes), changes.removed, changes.is_complete) == (["b"], ["a"], True)
    assert sessions.changes_since(Cursor("6-0")).removed == ["a"]
    sessions.remove("c")
    assert not sessions.changes_since(loaded).is_complete
    assert sessions.changes_since(sessions.cursor).is_complete
