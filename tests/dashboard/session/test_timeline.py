"""The timeline of a session: spans, waits and marks from events, and their layout to the scale of time."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processes.node import run_module
from symposia.dashboard.views.session.timeline import Change, build_timeline, read_change
from symposia.models.protocol.base import Event
from symposia.models.protocol.events import MapEvent
from symposia.models.text.ids import new_id, role_uuid

SESSION = new_id()
OUTCOMES = ("message", "passed", "skipped", "failed", "expired", "dropped", "cancelled")


def dispatched(at: int, turn: int, who: str, attempt: int = 1, task: str = "t", parent: str = "p") -> Change:
    payload = {
        "role_id": role_uuid(who), "turn_number": turn, "token_id": new_id(), "participant_id": who, "fence": 1,
        "attempt": attempt, "task_id": task, "parent_id": parent,
    }  # fmt: skip
    event = MapEvent(event_type="MAPTurnDispatched", session_id=SESSION, payload=payload)
    return read_change(f"{at}-0", event)


def completed(at: int, turn: int, who: str, attempt: int = 1, outcome: str = "message", **result) -> Change:
    payload = {
        "role_id": role_uuid(who), "turn_number": turn, "token_id": new_id(), "participant_id": who, "fence": 1,
        "attempt": attempt, "result": {"outcome": outcome, **result},
    }  # fmt: skip
    event = MapEvent(event_type="MAPTurnCompleted", session_id=SESSION, payload=payload)
    return read_change(f"{at}-1", event)


def noted(at: int, kind: str, **data) -> Change:
    return read_change(f"{at}-2", Event(event_type=kind, source="collab", data=data or None))


@st.composite
def histories(draw):
    """Changes of a session: turns of a few participants, each attempt begins before it ends, in order of time."""
    names = draw(st.lists(st.sampled_from(["ann", "bob", "cyd"]), min_size=1, max_size=12))
    changes = []
    clock = dict.fromkeys(names, draw(st.integers(0, 50)))
    for turn, who in enumerate(names, 1):
        for attempt in range(1, draw(st.integers(1, 3)) + 1):
            began = clock[who] + draw(st.integers(0, 20))
            changes.append((began, dispatched(began, turn, who, attempt, task=f"t{turn}")))
            if draw(st.integers(0, 9)) == 0:
                break  # it still runs
            ended = began + draw(st.integers(0, 30))
            changes.append((ended, completed(ended, turn, who, attempt, draw(st.sampled_from(OUTCOMES)))))
            clock[who] = ended
        else:
            continue
        clock[who] = 10**6
    return [change for _, change in sorted(changes, key=lambda it: it[0])]


@given(histories())
def test_every_attempt_is_one_valid_span(changes):
    spans = build_timeline(changes)["spans"]
    keys = [span["key"] for span in spans]
    assert len(keys) == len(set(keys)) == len({change.span["key"] for change in changes})
    for span in spans:
        assert span["began_ms"] <= span.get("ended_ms", span["began_ms"])
    begins = [span["began_ms"] for span in spans]
    assert begins == sorted(begins)


@given(histories(), st.data())
def test_pages_in_any_order_give_the_same_timeline(changes, data):
    cut = data.draw(st.integers(0, len(changes)))
    pages = [*changes[cut:], *changes[:cut], *changes[cut:]]
    assert build_timeline(pages) == build_timeline(changes)


@given(histories())
def test_attempts_of_one_turn_do_not_overlap(changes):
    spans = build_timeline(changes)["spans"]
    by_turn: dict[int, list] = {}
    for span in spans:
        by_turn.setdefault(span["turn"], []).append(span)
    for own in by_turn.values():
        for before, after in pairwise(sorted(own, key=lambda it: it["attempt"])):
            assert before["ended_ms"] <= after["began_ms"]


def test_span_has_outcome_error_and_usage():
    usage = {"input_tokens": 3, "output_tokens": 4, "cost_micros": 5}
    (span,) = build_timeline(
        [
            dispatched(10, 1, "ann"),
            completed(30, 1, "ann", outcome="failed", error="no disk", retried=True, usage=usage),
        ]
    )["spans"]
    assert span == {
        "key": "1.1", "turn": 1, "attempt": 1, "participant": "ann", "task_id": "t", "parent_id": "p", "began_ms": 10,
        "ended_ms": 30, "outcome": "failed", "error": "no disk", "retried": True, "tokens": 7, "cost_micros": 5,
    }  # fmt: skip


def test_wait_ends_with_the_answer_or_the_turn():
    timeline = build_timeline(
        [
            dispatched(10, 1, "ann"),
            noted(20, "turn.parked", turn_number=1, participant_id="ann"),
            noted(50, "turn.answered", turn_number=1),
            noted(60, "turn.parked", turn_number=1, participant_id="ann"),
            completed(90, 1, "ann", outcome="skipped"),
            noted(95, "turn.parked", turn_number=2, participant_id="bob"),
        ]
    )
    assert timeline["waits"] == [
        {"turn": 1, "from_ms": 20, "until_ms": 50},
        {"turn": 1, "from_ms": 60, "until_ms": 90},
        {"turn": 2, "from_ms": 95, "until_ms": None},
    ]


def test_refused_commits_and_steering_are_marks():
    conflict = MapEvent(
        event_type="MAPConflictDetected",
        session_id=SESSION,
        payload={"turn_number": 2, "participant_id": "bob"},
    )
    changes = [
        read_change("40-0", conflict),
        noted(50, "turn.refused", turn_number=2, participant_id="bob"),
        noted(60, "session.suspended"),
        noted(70, "turn.spent", participant_id="bob"),
        noted(80, "turn.worker.lost", turn_number=2, participant_id="bob", worker="w1@here"),
    ]
    marks = build_timeline(changes)["marks"]
    assert [(it["at_ms"], it["kind"], it["turn"]) for it in marks] == [
        (40, "refused commit", 2),
        (50, "refused commit", 2),
        (60, "session.suspended", None),
        (80, "worker w1@here was lost", 2),
    ]


def test_hit_of_a_guard_is_a_mark():
    hit = noted(50, "guard.hit", turn_number=2, participant_id="bob")
    (mark,) = build_timeline([hit])["marks"]
    assert (mark["kind"], mark["turn"], mark["participant"]) == ("guard.hit", 2, "bob")


# -- the layout, which runs in the browser ------------------------------------------------------

LAY_OUT = """
  const { extentOf, layOut, makeScale, waitsForWorkers } = module;
  const { fromMs, untilMs } = extentOf(it.spans, it.marks, 2_000_000);
  const x = makeScale(fromMs, untilMs, 800);
  const layout = layOut(it.spans, ["ann", "bob"], fromMs, 2_000_000);
  const waits = waitsForWorkers(new Map(it.spans.map((span) => [span.key, span])), fromMs);
  return {
    fromMs, untilMs, lanes: layout.lanes, rows: layout.rows, waits: [...waits],
    items: layout.items.map((item) => ({
      key: item.span.key, participant: item.span.participant, row: item.row, begin: item.beginMs, end: item.endMs,
      left: x(item.beginMs), right: x(item.endMs),
    })),
  };
"""

MERGE = """
  const data = new module.TimelineData();
  for (const change of it.live) data.addChange(change);
  data.addPage(it.page);
  for (const change of it.live) data.addChange(change);
  return { spans: data.inOrder(), marks: data.marks.size, waits: data.waits(), isParked: data.isParked(1) };
"""


def lay_out(timelines: list[dict]) -> list[dict]:
    return run_module("session/timeline_layout.js", LAY_OUT, timelines)


def test_spans_of_a_row_never_overlap():
    drawn: list[dict] = []

    @given(histories())
    def draw(changes):
        drawn.append(build_timeline(changes))

    draw()
    for timeline, layout in zip(drawn, lay_out(drawn), strict=True):
        items = layout["items"]
        assert sorted(it["key"] for it in items) == sorted(span["key"] for span in timeline["spans"])
        per_ms = 800 / max(layout["untilMs"] - layout["fromMs"], 1)
        for item in items:
            assert 0 <= item["left"] <= item["right"] <= 800
            assert item["right"] - item["left"] == pytest.approx(
                (item["end"] - item["begin"]) * per_ms, abs=1e-6
            )
        ordered = sorted(items, key=lambda it: it["begin"])
        assert [it["left"] for it in ordered] == sorted(it["left"] for it in ordered), "the scale is monotone"
        for row in {it["row"] for it in items}:
            own = sorted((it for it in items if it["row"] == row), key=lambda it: (it["begin"], it["end"]))
            assert all(before["end"] <= after["begin"] for before, after in pairwise(own))
            assert len({it["participant"] for it in own}) == 1, "a row belongs to one participant"


def test_wait_for_a_worker_starts_at_the_previous_step():
    spans = build_timeline(
        [
            dispatched(10, 1, "ann", task="t1", parent="root"),
            completed(20, 1, "ann", outcome="failed"),
            dispatched(35, 1, "ann", attempt=2, task="t1", parent="root"),
            completed(40, 1, "ann", attempt=2),
            dispatched(55, 2, "bob", task="t2", parent="t1"),
        ]
    )
    (layout,) = lay_out([spans])
    assert dict(layout["waits"]) == {"1.1": 10, "1.2": 20, "2.1": 40}
    assert [lane["participant"] for lane in layout["lanes"]] == ["ann", "bob"]


def test_page_merges_pages_and_live_changes():
    cases, wanted = [], []

    @given(histories(), st.data())
    def draw(changes, data):
        cut = data.draw(st.integers(0, len(changes)))
        live = [change.to_json() for change in changes[cut:]]
        cases.append({"page": build_timeline(changes[:cut]), "live": live})
        wanted.append({span["key"]: span for span in build_timeline(changes)["spans"]})

    draw()
    for merged, spans in zip(run_module("session/timeline_data.js", MERGE, cases), wanted, strict=True):
        assert {span["key"]: span for span in merged["spans"]} == spans


def test_page_follows_the_waits_of_a_turn():
    parked = noted(20, "turn.parked", turn_number=1, participant_id="ann")
    answered = noted(50, "turn.answered", turn_number=1)
    page = build_timeline([dispatched(10, 1, "ann"), parked])
    cases = [{"page": page, "live": live} for live in ([], [answered.to_json()])]
    waiting, over = run_module("session/timeline_data.js", MERGE, cases)
    assert (waiting["waits"], waiting["isParked"]) == ([{"turn": 1, "from_ms": 20, "until_ms": None}], True)
    assert (over["waits"], over["isParked"]) == ([{"turn": 1, "from_ms": 20, "until_ms": 50}], False)
