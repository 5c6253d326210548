"""Closed questions, the parameters of the inbox and its links, without a server."""

from __future__ import annotations

import pytest

from symposia.dashboard.views.inbox_parts import InboxParams, inbox_tabs, read_inbox_params
from symposia.dashboard.views.questions import OpenQuestion, PastQuestion, Person, past_questions
from symposia.jobs.condition_rules import without_answer
from symposia.jobs.conditions import Roster
from symposia.models.protocol.base import Event
from symposia.models.turns.turn import Question
from symposia.models.turns.waiting import ParkedQuestion, WaitPolicy

PARKED = ("turn.parked", {"asked": ["ben"], "question": "May I?"})
ASKED = PastQuestion(1, "ann", ("ben",), "May I?", asked_ms=1)


def closed(*events: tuple[str, dict[str, object]], ended_ms: int | None = None) -> list[PastQuestion]:
    entries = [
        (
            f"{number}-0",
            Event(
                event_type=kind,
                source="symposia",
                data={"turn_number": 1, "participant_id": "ann", **data},
            ),
        )
        for number, (kind, data) in enumerate(events, start=1)
    ]
    return past_questions(entries, ended_ms=ended_ms)


def changed(**fields: object) -> list[PastQuestion]:
    return [PastQuestion(**{**{name: getattr(ASKED, name) for name in ASKED.__slots__}, **fields})]


@pytest.mark.parametrize(
    ("events", "ended_ms", "expected"),
    [
        ([PARKED], None, []),
        ([PARKED, ("turn.answered", {"by": "ben"})], None, changed(by="ben", ended_ms=2)),
        ([PARKED, ("turn.answered", {"by": ""})], None, changed(ended_ms=2)),
        ([PARKED], 9, changed(ended_ms=9)),
        (
            [PARKED, ("turn.reassigned", {"asked": ["cyd"]}), ("turn.answered", {"by": "cyd"})],
            None,
            changed(asked=("cyd",), by="cyd", ended_ms=3),
        ),
        ([PARKED, ("webhook.delivered", {}), ("turn.answered", {"by": "remote"})], None, []),
        ([("turn.parked", {"session_id": "a sub-session"}), ("turn.answered", {})], None, []),
        ([("turn.answered", {"by": "ben"})], None, []),
    ],
)
def test_closed_questions_are_read_from_the_journal(events, ended_ms, expected):
    assert closed(*events, ended_ms=ended_ms) == expected


SKIP, CANCEL = WaitPolicy(), WaitPolicy(then="cancel")
TEXT, TOOL = Question(to="ben", text="May I?"), Question(to="ben", tool="delete")


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        (ParkedQuestion(question=TEXT), "the turn is skipped"),
        (ParkedQuestion(question=TEXT, is_own=False), "the agent goes on without one"),
        (ParkedQuestion(question=TOOL, is_own=False), "it counts as refused"),
        (ParkedQuestion(question=TOOL, is_own=False, policy=CANCEL), "the session is cancelled"),
    ],
)
def test_page_says_what_happens_without_an_answer(waiting, expected):
    assert without_answer(waiting, Roster()) == expected


@pytest.mark.parametrize(
    ("values", "params", "wrong"),
    [
        ({}, InboxParams(), []),
        ({"for": "all", "state": "answered", "since": "24h"}, InboxParams("", "answered", "24h"), []),
        ({"for": " ann ", "state": "gone", "since": "soon"}, InboxParams("ann"), ["state", "since"]),
    ],
)
def test_wrong_parameters_are_named(values, params, wrong):
    read, notices = read_inbox_params(values)
    assert (read, [line.partition(":")[0] for line in notices]) == (params, wrong)


def question(number: int, *asked: Person) -> OpenQuestion:
    return OpenQuestion(str(number), "s", "A talk", 1, asked, "", "Well?", (), "", number, None, "")


def test_links_count_the_questions_of_people():
    ann, ben = Person("ann", "Ann Lee", "editor"), Person("ben", "ben")
    questions = [question(1, ann), question(2, ann, ben), question(3, ben)]
    tabs = [tab for tab in inbox_tabs(InboxParams("role:editor"), questions, "/inbox", viewer="ben") if tab]
    assert [(tab.count, tab.words, tab.is_current) for tab in tabs] == [
        (3, "for all", False),
        (2, "for you, ben", False),
        (2, "for role:editor", True),
        (2, "for ann", False),
        (0, "answered", False),
        (0, "without an answer", False),
    ]
    assert tabs[2].href == "/inbox?for=role%3Aeditor"
    assert [it.is_for("Ann Lee") for it in questions] == [True, True, False]
