"""Why a session does not move: conditions, their order and thresholds, and the sentence of each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from symposia.dashboard.views.attention import with_condition
from symposia.dashboard.views.collab_row import CollabFacts, build_row
from symposia.dashboard.views.sentences import session_notice
from symposia.dashboard.views.unreadable import UnreadableSession, unreadable_row
from symposia.jobs.condition_rules import condition_of
from symposia.jobs.conditions import ATTENTIONS, AttentionLimits, Roster, Workers
from symposia.state.redis.scripts import view_fields
from symposia.state.sessions.records import SessionState

NOW = 1_000_000
ROSTER = Roster({"ann": "Ann", "ben": "Ben Lee"}, {"ben": "editor"}, {"ann": 5}, tenant="shop")
LIMITS = AttentionLimits(stuck_ms=5_000)
W1 = "w1@here/1"
RUNNING = Workers(alive=frozenset({"w1@here", "w2@here"}))
GONE = Workers(none_since_ms=NOW - 65_000)
LOST = Workers(alive=frozenset({"w2@here"}), lost={W1: NOW - 2_000})
SPEAKING = {"status": "speaking", "token": "t", "process": f"t {W1}", "began_ms": NOW - 9_000}
QUEUED = {"status": "planned", "queued_ms": NOW - 6_000}
RETRY = {"status": "planned", "failures": 2, "queued_ms": NOW + 12_000}


def parked(**wait: Any) -> dict[str, Any]:
    """A parked turn of ann; `wait`: fields of its question."""
    question = {"question": {"to": "ben", "text": "May I?"}, "is_own": False, "asked": ["ben"], **wait}
    times = {"reply": "r", "parked_ms": NOW - 130_000, "until_ms": NOW + 3_600_000, "wake_ms": NOW + 9_000}
    return {"status": "parked", **times, "wait": question}


def state(*turns: dict[str, Any], **fields: Any) -> SessionState:
    values = dict.fromkeys(view_fields()) | {"status": "active", "updated_ms": "0", **fields}
    records: dict[str, str] = {}
    for number, turn in enumerate(turns, 1):
        record = {"participant": "ann", "scope": "floor", "grants": 0, "failures": 0, "dispatches": 1, **turn}
        if "wait" in record:
            records[f"{number}:wait"] = json.dumps(record.pop("wait"))
        records[str(number)] = json.dumps(record)
    return SessionState("s", NOW, values, records)


#: Turns, workers -> kind, text in the list, sentence on the page.
CASES: dict[str, tuple[SessionState, Workers, str | None, str | None, str]] = {
    "speaking": (
        state(SPEAKING),
        RUNNING,
        "speaking",
        None,
        "Ann speaks for 9 s. Turn 1, on worker w1@here.",
    ),
    "several speak": (
        state(SPEAKING, {**SPEAKING, "began_ms": NOW - 4_000}),
        RUNNING,
        "speaking",
        None,
        "2 participants speak. The longest is Ann, for 9 s, on worker w1@here.",
    ),
    "planning": (state(updated_ms=str(NOW)), RUNNING, "planning", None, "The next turn is being planned."),
    "a queue that moves": (
        state(QUEUED),
        Workers(RUNNING.alive, queue_moved_ms=NOW - 4_999),
        "queued",
        None,
        "Turn 1 (Ann) waits for a free process for 6 s.",
    ),
    "a queue that does not move": (
        state(QUEUED),
        Workers(RUNNING.alive, queue_moved_ms=NOW - 5_000),
        "stuck",
        "turn 1 (Ann) waits, and no worker takes anything from the queue",
        "Nothing happens for 5 s. Turn 1 (Ann) waits, and no worker takes anything from the queue.",
    ),
    "queued lately": (state({**QUEUED, "queued_ms": NOW - 4_999}), RUNNING, "queued", None, ""),
    "an unknown agent": (
        state({**QUEUED, "lacks": "ada"}),
        Workers(RUNNING.alive, queue_moved_ms=NOW),
        "worker",
        "no worker knows agent ada",
        (
            "No worker knows agent ada since 00:16:34 UTC. 1 turn waits for it. Nothing is lost: it goes on when a "
            "worker with the agent starts: symposia worker."
        ),
    ),
    "an agent of a queue": (
        state({**QUEUED, "lacks": "ada (queue gpu)"}),
        Workers(RUNNING.alive, queue_moved_ms=NOW),
        "worker",
        "no worker of queue gpu knows agent ada",
        (
            "No worker of queue gpu knows agent ada since 00:16:34 UTC. 1 turn waits for it. Nothing is lost: it goes on "
            "when a worker with the agent starts: symposia worker --queue gpu."
        ),
    ),
    "no worker": (
        state(QUEUED),
        GONE,
        "worker",
        "turn 1 (Ann) waits for a worker",
        (
            "No worker since 00:15:35 UTC (1 min 5 s). Turn 1 (Ann) waits for a worker. Nothing is lost: it goes on when "
            "a worker starts: symposia worker."
        ),
    ),
    "no worker for a retry": (state(RETRY), GONE, "worker", "turn 1 (Ann) waits for a worker", ""),
    "a lost worker": (
        state(SPEAKING, QUEUED),
        LOST,
        "lost",
        "Ann was speaking on w1@here",
        "Worker w1@here is lost since 00:16:38 UTC. Ann was speaking in turn 1. Now w2@here repeats the turn.",
    ),
    "a person": (
        state(parked()),
        GONE,
        "person",
        "Ben Lee must answer, asked by Ann",
        (
            "Ben Lee (editor) must answer, for 2 min 10 s. Ann asks in turn 1: “May I?” Without an answer the agent goes "
            "on without one in 1 h, at 01:16:40 UTC."
        ),
    ),
    "a turn of a person": (
        state({**parked(is_own=True), "participant": "ben"}),
        RUNNING,
        "person",
        "Ben Lee must answer",
        (
            "Ben Lee (editor) must answer, for 2 min 10 s. It is turn 1. Without an answer the turn is skipped in 1 h, at "
            "01:16:40 UTC."
        ),
    ),
    "a sub-session": (
        state({**parked(asked=[]), "child": "0123456789"}),
        GONE,
        "session",
        None,
        "Turn 1 (Ann) waits for its sub-session for 2 min 10 s. 01234567",
    ),
    "a remote system": (
        state(parked(asked=[], delivery={"message_id": "m", "body": "", "attempts": 1, "delivered": True})),
        RUNNING,
        "remote",
        None,
        "Turn 1 (Ann) waits for a remote system for 2 min 10 s.",
    ),
    "a retry": (
        state(RETRY),
        RUNNING,
        "retry",
        "Attempt 3 of 5. ValueError: no",
        "Attempt 3 of 5 in 12 s. Turn 1 (Ann) failed twice: ValueError: no. Nothing is needed from you.",
    ),
    "the budget of the session": (
        state({"status": "planned", "short_tokens": 5}),
        RUNNING,
        "budget",
        "waits for a part of the budget of the session",
        "",
    ),
    "the budget of the tenant": (
        state({"status": "planned", "queued_ms": NOW + 5_000}),
        RUNNING,
        "budget",
        "waits for the budget of tenant shop",
        "",
    ),
    "a rate limit": (state({"status": "planned", "queued_ms": NOW + 4_000}), RUNNING, "postponed", None, ""),
}


@pytest.mark.parametrize("name", CASES)
def test_condition_of_a_session(name: str):
    session, workers, kind, text, sentence = CASES[name]
    condition = condition_of(session, ROSTER, workers, limits=LIMITS, error="ValueError: no")
    assert (condition.kind, condition.list_text()) == (kind, text)
    assert condition.attention == (kind if kind in ATTENTIONS else None)
    row = with_condition(build_row(session, CollabFacts(0, "A title", "pair", {}), position="0-0"), condition)
    assert (row["attention"], row["attention_text"]) == (condition.attention, text)
    shown = str(session_notice(row, condition, NOW))
    assert shown
    assert not sentence or shown == sentence


@pytest.mark.parametrize(
    ("workers", "leases", "kind"),
    [
        (RUNNING, {1: NOW + 20_000}, "speaking"),
        (RUNNING, {1: NOW - 1}, "lost"),
        (LOST, {1: NOW + 40_000}, "lost"),
        (LOST, {}, "lost"),
    ],
)
def test_lease_decides_whether_a_worker_is_lost(workers: Workers, leases: dict[int, int], kind: str):
    condition = condition_of(state(SPEAKING), ROSTER, workers, limits=LIMITS, leases=leases)
    assert condition.kind == kind
    if kind == "lost":
        assert condition.due_ms == (NOW + 40_000 if leases == {1: NOW + 40_000} else None)


def test_unswept_session_is_stuck_and_an_inactive_one_has_no_condition():
    unswept = condition_of(state(SPEAKING), ROSTER, RUNNING, limits=LIMITS, is_unswept=True)
    assert (unswept.kind, unswept.list_text()) == ("stuck", "no worker sweeps it")
    assert condition_of(state(QUEUED, status="suspended"), ROSTER, GONE, limits=LIMITS).kind is None


def test_first_condition_counts_in_the_order_of_their_urgency():
    kinds = [
        condition_of(state(*turns), ROSTER, workers, limits=LIMITS, is_unswept=swept).kind
        for turns, workers, swept in (
            ((SPEAKING, {**QUEUED, "lacks": "ada"}, parked()), LOST, True),
            (({**QUEUED, "lacks": "ada"}, parked()), RUNNING, True),
            ((parked(), RETRY), RUNNING, True),
            ((parked(), RETRY), RUNNING, False),
            ((RETRY, {"status": "planned", "short_tokens": 5}), RUNNING, False),
            (({"status": "planned", "short_tokens": 5},), RUNNING, False),
        )
    ]
    assert ["unreadable", *kinds] == list(ATTENTIONS)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"status": "suspended"},
            "Suspended since 00:16:40 UTC. Turns that run end first. It goes on when it is resumed.",
        ),
        (
            {"status": "suspended", "actor": "m.park"},
            "Suspended since 00:16:40 UTC by m.park. Turns that run end first. It goes on when it is resumed.",
        ),
        ({"status": "draft"}, "Waits to be started. Nothing runs before that."),
        (
            {"status": "cancelled", "reason": "failed", "detail": "disk full"},
            "Failed at 00:16:40 UTC. disk full",
        ),
        (
            {"status": "cancelled", "reason": "cancelled", "detail": "wrong"},
            "Cancelled at 00:16:40 UTC: wrong",
        ),
        ({"status": "cancelled", "reason": "cancelled"}, "Cancelled at 00:16:40 UTC."),
        (
            {"status": "cancelled", "reason": "wrong", "actor": "m.park"},
            "Cancelled at 00:16:40 UTC by m.park: wrong",
        ),
        (
            {"status": "completed", "reason": "approved", "closed": "1", "input_tokens": "1200"},
            "Completed at 00:16:40 UTC: approved. 1 turn, 1,200 tokens.",
        ),
        (
            {"status": "completed", "reason": "token_budget", "detail": "9 of 8 tokens"},
            "Stopped by its token budget: 9 of 8 tokens. At 00:16:40 UTC, 0 turns, 0 tokens.",
        ),
    ],
)
def test_sentence_of_a_session_that_does_not_run(fields: dict[str, str], sentence: str):
    session = state(**{"updated_ms": str(NOW), **fields})
    row = build_row(session, CollabFacts(0, "A title", "pair", {}), position="0-0")
    condition = condition_of(session, ROSTER, GONE, limits=LIMITS)
    assert str(session_notice(row, condition, NOW)) == sentence


def test_unreadable_session_says_so():
    row = unreadable_row(UnreadableSession("s", "turn 1 is odd", "active"), before=None, now_ms=NOW)
    sentence = "Cannot be read since 00:16:40 UTC: turn 1 is odd. Other sessions are not concerned."
    assert (
        str(session_notice(row, condition_of(state(status="draft"), ROSTER, GONE, limits=LIMITS), NOW))
        == sentence
    )
