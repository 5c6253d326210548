"""`reply`: what is recorded of a wait that ends without an answer."""

from __future__ import annotations

from sessions.table import turn
from symposia.models.turns.turn import OutcomeKind
from symposia.state.turns.parked import ParkedTurnStore, Reply, ReplyRule


def test_turn_returned_again_is_unchanged(table):
    parked = table.grant(table.plan_one())
    table.park(parked, "r")
    answers = [table.reply(parked.number, "r", "q", None) for _ in range(2)]
    assert [answer.word for answer in answers] == ["returned", "returned"]
    assert answers[0].state.records[parked.number].agent is None
    assert [payload["result"] for payload in table.payloads("MAPTurnCompleted")] == [
        {"outcome": "asked", "messages": 0}
    ]


def test_failed_wait_records_its_error(table):
    one, two = table.plan(turn("ann", "a"), turn("bob", "b"))
    for number, scope, error in ((one, "a", "no mail server"), (two, "b", "")):
        table.park(table.grant(number, scope=scope), scope)
        done = {"rule": ReplyRule.FAILURE, "outcome": "failed", "error": error}
        assert table.reply(number, scope, scope, None, **done).word == "returned"
    results = [payload["result"] for payload in table.payloads("MAPTurnCompleted")]
    assert [result.get("error") for result in results] == ["no mail server", None]
    assert [result["retried"] for result in results] == [True, True]


def test_turn_that_fails_with_its_wait_says_why(table):
    one, two = table.plan(turn("ann", "a"), turn("bob", "b"))
    for number, scope, error in ((one, "a", "nobody came"), (two, "b", "")):
        grant = table.grant(number, scope=scope)
        table.park(grant, scope)
        speech = table.speech(grant, kind=OutcomeKind.FAILED, error=error)
        reply = Reply(number, scope, scope, ReplyRule.FAILURE, speech=speech)
        assert ParkedTurnStore(table.client).reply(table.id, reply).word == "replied"
    results = [payload["result"] for payload in table.payloads("MAPTurnCompleted")]
    assert [(result["outcome"], result.get("error")) for result in results] == [
        ("failed", "nobody came"),
        ("failed", None),
    ]
