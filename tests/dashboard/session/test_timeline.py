"""The timeline of a session: spans, waits and marks from events; lanes of participants and entries of turns."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.dashboard.views.session.lanes import draw_lanes, make_axis
from symposia.dashboard.views.session.timeline import (
    Change,
    TimelineBuilder,
    build_timeline,
    join_timelines,
    read_change,
)
from symposia.dashboard.views.session.turn_entries import TurnFacts, build_entries, live_entries
from symposia.models.protocol.base import Event
from symposia.models.protocol.dialog import Message, Role, build_turn_message
from symposia.models.protocol.events import MapEvent
from symposia.models.text.ids import new_id, role_uuid, utcnow

SESSION = new_id()
OUTCOMES = ("message", "passed", "skipped", "failed", "expired", "dropped", "cancelled")


def dispatched(
    at: int, turn: int, who: str, attempt: int = 1, task: str = "t", parent: str = "p", **waited
) -> Change:
    payload = {
        "role_id": role_uuid(who), "turn_number": turn, "token_id": new_id(), "participant_id": who, "fence": 1,
        "attempt": attempt, "task_id": task, "parent_id": parent, **waited,
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


@given(histories(), st.data())
def test_two_parts_are_joined_to_the_whole(changes, data):
    cut = data.draw(st.integers(0, len(changes)))
    whole, older, newer = (build_timeline(part) for part in (changes, changes[:cut], changes[cut:]))
    assert join_timelines(older, newer)["spans"] == whole["spans"]
    assert join_timelines(older, whole)["waits"] == whole["waits"]


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
        "key": "1.1", "turn": 1, "attempt": 1, "participant": "ann", "task_id": "t", "parent_id": "p", "began_ms": 10, "waited_ms": 0,
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


# -- lanes: the bars of the participants ----------------------------------------------------------


@given(histories(), st.integers(0, 200), st.booleans())
def test_bars_are_within_the_axis_and_in_order(changes, now_ms, is_final):
    timeline = build_timeline(changes)
    spans = timeline["spans"]
    axis = make_axis(spans, now_ms=now_ms, is_final=is_final)
    lanes = draw_lanes(spans, timeline["waits"], axis, is_final=is_final)
    assert sum(map(len, lanes.values())) >= len(spans) > 0
    for bars in lanes.values():
        attempts = [bar for bar in bars if bar.kind not in ("queue", "backoff", "ask", "answered")]
        assert [bar.x for bar in attempts] == sorted(bar.x for bar in attempts)
        assert all(0 <= bar.x <= 100 and 0 < bar.width <= 100 for bar in bars)


def test_lane_stays_the_same_while_nothing_happens():
    spans = build_timeline([dispatched(1_000, 1, "ann")])["spans"]
    lanes = [
        draw_lanes(spans, (), make_axis(spans, now_ms=now_ms, is_final=False), is_final=False)
        for now_ms in range(61_000, 63_000, 100)
    ]
    assert len({str(lane) for lane in lanes}) <= 2
    ((bar,),) = lanes[0].values()
    assert (bar.kind, bar.x, bar.width) == ("now", 0.0, 100.0)


def test_bars_show_queue_failure_pause_and_message():
    changes = [
        dispatched(10, 1, "ann", waited_ms=4),
        completed(20, 1, "ann", outcome="failed", error="broken", retried=True),
        dispatched(35, 1, "ann", attempt=2, waited_ms=5),
        completed(40, 1, "ann", attempt=2),
        dispatched(55, 2, "bob"),
        noted(60, "turn.parked", turn_number=2, participant_id="bob"),
    ]
    timeline = build_timeline(changes)
    axis = make_axis(timeline["spans"], now_ms=90, is_final=False)
    lanes = draw_lanes(timeline["spans"], timeline["waits"], axis, is_final=False)
    assert [bar.kind for bar in lanes["ann"]] == ["queue", "bad", "backoff", "queue", ""]
    assert [bar.kind for bar in lanes["bob"]] == ["now", "ask"]
    assert "broken" in lanes["ann"][1].text
    assert [axis.percent(20), axis.percent(30)] == [lanes["ann"][2].x, lanes["ann"][3].x]
    ended = draw_lanes(timeline["spans"], (), axis, is_final=True)
    assert [bar.kind for bar in ended["bob"]] == ["bad"], "the turn was dropped with the session"
    part = make_axis(timeline["spans"], now_ms=90, is_final=False, since_ms=21, until_ms=50)
    shown = draw_lanes(timeline["spans"], timeline["waits"], part, is_final=False)
    assert {name: [bar.kind for bar in bars] for name, bars in shown.items() if bars} == {
        "ann": ["backoff", "queue", ""]
    }


@pytest.mark.parametrize(
    ("queued_ms", "kinds"), [(60, ["bad", "backoff"]), (40, ["bad", "backoff", "queue"])]
)
def test_open_turn_is_in_its_pause_or_in_the_queue(queued_ms, kinds):
    spans = build_timeline(
        [dispatched(10, 1, "ann"), completed(20, 1, "ann", outcome="failed", error="broken", retried=True)]
    )["spans"]
    turn = {
        "turn": 1, "participant": "ann", "attempt": 1, "queued_ms": queued_ms, "parked_ms": None, "began_ms": 10,
        "state": "retries" if queued_ms > 50 else "queued",
    }  # fmt: skip
    axis = make_axis(spans, now_ms=50, is_final=False)
    lanes = draw_lanes(spans, (), axis, is_final=False, open_turns=[turn], now_ms=50)
    assert [bar.kind for bar in lanes["ann"]] == kinds
    (entry,) = live_entries([turn], {}, TurnFacts(spans))
    assert (entry.attempt, entry.since_ms, entry.next_ms) == (
        (2, None, 60) if queued_ms > 50 else (1, 40, None)
    )
    assert [failure.error for failure in entry.failures] == ["broken"]


def test_timeline_of_an_open_session_is_bounded():
    builder = TimelineBuilder(max_spans=3)
    for turn in range(1, 6):
        builder.take(dispatched(turn, turn, "ann"))
        builder.take(noted(turn, "turn.parked", turn_number=turn, participant_id="ann"))
    assert list(builder.spans) == ["3.1", "4.1", "5.1"]
    assert list(builder.waits) == [3, 4, 5]


def said(text: str) -> Message:
    return build_turn_message(
        Role.AGENT, text, timestamp=utcnow(), participant_id="ann", turn_number=1, token_id=new_id(), fence=1
    )


def test_entry_of_a_turn_has_its_attempts_texts_and_cost():
    changes = [
        dispatched(10, 1, "ann", task="t1", parent=SESSION),
        completed(20, 1, "ann", outcome="failed", error="broken\nline 2", retried=True),
        dispatched(35, 1, "ann", attempt=2, task="t1", parent=SESSION, waited_ms=5),
        completed(40, 1, "ann", attempt=2, usage={"input_tokens": 3, "output_tokens": 4, "cost_micros": 5}),
        # Both were planned by the task of turn 1; one after a pause of the session.
        dispatched(55, 2, "bob", task="t2", parent="t1", waited_ms=15),
        noted(56, "turn.parked", turn_number=2, participant_id="bob"),
        noted(59, "turn.answered", turn_number=2, participant_id="bob"),
        completed(60, 2, "bob", outcome="passed"),
        dispatched(57, 3, "cyd", task="t3", parent="t1", waited_ms=2),
        completed(61, 3, "cyd", outcome="passed"),
        dispatched(70, 4, "ann", task="t4", parent="another"),
        completed(71, 4, "ann", outcome="passed"),
    ]
    messages = [
        ("5-0", Message(role="user", content="Hello.")),
        ("39-0", said("**One**")),
        ("39-1", said("two")),
    ]
    timeline = build_timeline(changes)
    entries = build_entries(messages, TurnFacts(timeline["spans"], timeline["waits"]))
    assert [(it.element, it.author, it.words) for it in entries] == [
        ("message-5-0", "user", ""), ("turn-1", "ann", ""), ("turn-2", "bob", "passed"), ("turn-3", "cyd", "passed"),
        ("turn-4", "ann", "passed"),
    ]  # fmt: skip
    turn = entries[1]
    assert [text.rendered.html for text in turn.texts] == ["<p><strong>One</strong></p>", "<p>two</p>"]
    assert [(it.attempt, it.error, it.took_ms, it.paused_ms) for it in turn.failures] == [
        (1, "broken\nline 2", 10, 10)
    ]
    assert (turn.attempt, turn.took_ms, turn.tokens, turn.cost_micros) == (2, 5, 7, 5)
    assert [(it.planner_turn, it.planner_task, it.queued_ms, it.answer_ms) for it in entries[1:]] == [
        (None, SESSION, 5, 0), (1, None, 15, 3), (1, None, 2, 0), (None, "another", 0, 0)
    ]  # fmt: skip
    assert not entries[2].is_bad
