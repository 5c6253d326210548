"""Texts of the list of sessions: the cells of a row, and the links around the rows."""

from __future__ import annotations

from typing import Any

import pytest

from symposia.dashboard.views.collab_cells import NONE, cells_of, cost_text, time_html
from symposia.dashboard.views.list_parts import Links, describe, pager, tabs, without
from symposia.models.sessions.query import SessionQuery
from symposia.models.text.words import short_duration

AT_MS = 1_700_000_000_000
ROW: dict[str, Any] = {
    "id": "8ab5f87b-0000-4000-8000-000000000000",
    "title": "A talk",
    "mode": "round_robin",
    "tenant": "press",
    "shown": "active",
    "reason": None,
    "detail": None,
    "actor": None,
    "error": None,
    "attention": None,
    "attention_text": None,
    "attention_next": None,
    "attention_since_ms": None,
    "attention_due_ms": None,
    "speakers": [],
    "first_limit": None,
    "ends_about_ms": None,
    "rounds": 2,
    "tokens": 41_203,
    "cost_micros": 310_000,
    "opened_ms": AT_MS,
    "updated_ms": AT_MS + 1_000,
    "ended_ms": None,
}
ERROR = {"at_ms": AT_MS, "turn": 10, "participant": "bad", "text": "RuntimeError: <disk>"}
ENDED = {"ended_ms": AT_MS + 180_000}


def speakers(*states: str) -> list[dict[str, Any]]:
    return [{"name": f"a{number}", "state": state, "since_ms": AT_MS} for number, state in enumerate(states)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {},
            {
                "badge": "active",
                "now": "nobody",
                "now_more": "in the queue",
                "progress": "2 rounds, no limit of rounds",
            },
        ),
        ({"speakers": speakers(*["speaking"] * 7)}, {"now": "a0, a1, a2", "now_more": "and 4 more"}),
        ({"speakers": speakers("planned")}, {"now": "a0", "now_more": "in the queue"}),
        (
            {"attention": "person", "attention_text": "Mina must answer", "speakers": speakers("parked")},
            {
                "badge": "needs answer",
                "mark": "mark-warn",
                "why": "Mina must answer",
                "now": "nobody",
                "now_more": "",
            },
        ),
        (
            {"attention": "retry", "attention_text": "Attempt 3 of 5"},
            {"badge": "retries", "is_error": True, "mark": "mark-warn"},
        ),
        (
            {"shown": "failed", "error": ERROR, "reason": "failed", **ENDED},
            {
                "badge": "failed",
                "mark": "mark-bad",
                "why": "turn 10, bad: RuntimeError: <disk>",
                "is_error": True,
            },
        ),
        (
            {"shown": "limit", "reason": "token_budget", **ENDED},
            {"why": "Stopped by its token budget", "next_html": "continue with a larger one", "now": NONE},
        ),
        (
            {"shown": "cancelled", "reason": "I start <again>", **ENDED},
            {"why": "“I start <again>”", "status_html": ""},
        ),
        ({"shown": "cancelled", "actor": "<m.park>", **ENDED}, {"status_html": "by &lt;m.park&gt;"}),
        ({"shown": "suspended", "actor": "m.park"}, {"status_html": "by m.park"}),
        (
            {"shown": "completed", "reason": "max_turns", **ENDED},
            {"status_html": "max turns", "duration_html": "took 3 min"},
        ),
        (
            {"first_limit": {"unit": "cost_micros", "used": 4_600_000, "limit": 5_000_000}},
            {"progress": "$4.60 of $5.00 · 2 rounds", "progress_class": "near", "total": 5_000_000},
        ),
        (
            {"first_limit": {"unit": "tokens", "used": 1_587, "limit": 1_500}},
            {"progress": "1,587 of 1,500 tokens · 2 rounds", "value": 1_500},
        ),
        ({"title": "  "}, {"title": ROW["id"], "about": "8ab5f87b · round robin · press"}),
    ],
)
def test_cells_say_what_a_session_does(changes, expected):
    cells = cells_of({**ROW, **changes})  # type: ignore[arg-type]
    assert {name: getattr(cells, name) for name in expected} == expected


def test_numbers_have_units():
    assert [cost_text(micros) for micros in (0, 1_200, 310_000, 1_234_560_000)] == [
        NONE,
        "$0.0012",
        "$0.31",
        "$1,234.56",
    ]
    assert [short_duration(ms) for ms in (400, 59_000, 61_000, 7_200_000, 172_800_000)] == [
        "0 s",
        "59 s",
        "1 min",
        "2 h",
        "2 d",
    ]
    assert time_html(AT_MS, "clock") == (
        '<time datetime="2023-11-14T22:13:20.000000Z" data-as="clock">22:13:20 UTC</time>'
    )


def test_links_keep_the_other_filters():
    query = SessionQuery.read_strictly({"since": ["7d"], "status": ["failed"], "page": ["3"]})
    links = Links("/flower", query)
    shown = tabs(query, {"all": 9, "failed": 2, "lost": 1}, links)
    by_words = {tab.words: tab for tab in shown if tab is not None}
    assert by_words["all"].href == "/flower/collabs?since=7d"
    assert (by_words["failed"].count, by_words["failed"].is_current, by_words["failed"].css) == (
        2,
        True,
        "bad",
    )
    assert by_words["active"].css == "zero"
    assert by_words["need an answer"].href == "/flower/collabs?attention=person&since=7d"
    assert "drafts" not in by_words
    assert by_words["worker lost"].count == 1
    assert links.sort("cost") == "/flower/collabs?status=failed&since=7d&sort=-cost"
    assert Links("", query.changed(sort="-cost")).sort("cost") == "/collabs?status=failed&since=7d&sort=cost"
    assert links.to(select="all") == "/flower/collabs?status=failed&since=7d&select=all"


def test_pages_are_numbered():
    query = SessionQuery.read_strictly({"page": ["2"]})
    middle = pager(query, shown=50, total=131, pages=3, links=Links("", query))
    assert (middle.text, middle.newer, middle.older) == (
        "51\N{EN DASH}100 of 131",
        "/collabs",
        "/collabs?page=3",
    )
    beyond = pager(query.changed(page=9), shown=31, total=131, pages=3, links=Links("", query))
    assert (beyond.text, beyond.older) == ("101\N{EN DASH}131 of 131", "")


def test_query_is_described_and_loses_one_filter():
    query = SessionQuery.read_strictly({"status": ["failed,limit"], "since": ["24h"], "tenant": ["shop"]})
    assert {name: (words, value) for name, words, value in describe(query)} == {
        "status": ("status", "failed or at a limit"),
        "since": ("opened in the last", "24 hours"),
        "tenant": ("tenant", "shop"),
    }
    assert without(query, "since").to_params() == {"status": "failed,limit", "tenant": "shop"}
