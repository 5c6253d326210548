"""The list of events of a page that stays open: events that it dropped are loaded again."""

from __future__ import annotations

import pytest

from live import result_of
from processes.node import run_module
from symposia.models.sessions.stop_conditions import MaxRounds

DROP = "return it.ids.reduce((before, id) => module.cursorWith(before, id), it.before);"


def cursor_after(ids: list[str], before: str | None) -> str:
    (cursor,) = run_module("session/event_cursor.js", DROP, [{"ids": ids, "before": before}])
    return cursor


def test_cursor_begins_at_the_dropped_event():
    assert cursor_after(["journal:9-0"], "7-2_8-1") == "7-2_9-1"
    assert cursor_after(["events:9-4"], "7-2_8-1") == "9-5_8-1"
    assert cursor_after(["events:9-4"], "_8-1") == "9-5_8-1"
    assert cursor_after(["events:9-4", "events:10-0"], None) == "10-1_0-1"


@pytest.mark.long
def test_dropped_events_are_loaded_again(dashboard):
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(2))
    result_of(job, timeout_s=60)
    for source in ("live", "archived"):
        everything = [it["id"] for it in dashboard.get(job, "/events?count=500")["events"]]
        page = dashboard.get(job, "/events?count=8")
        shown = [it["id"] for it in page["events"]]
        for before, kept, loaded in ((page["before"], 4, shown), (None, 3, everything)):
            dropped = loaded[kept:][::-1]
            rest = dashboard.get(job, f"/events?count=500&before={cursor_after(dropped, before)}")["events"]
            assert loaded[:kept] + [it["id"] for it in rest] == everything, source
        if source == "live":
            dashboard.expire(job)
