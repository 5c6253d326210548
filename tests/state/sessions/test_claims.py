"""A commit that grants the next turn in the same instant as it plans it."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha1

import pytest

from sessions.table import Table, turn, until
from symposia.models.sessions.plan import Finish, Step
from symposia.state.redis.keys import lock_key
from symposia.state.sessions.requests import SeenMessage


@pytest.fixture
def table(client):
    return Table(client)


def plan(table, grant, *turns, **step):
    return table.write(Step(turns=turns or (turn("bob"),), **step), after=grant.number)


def test_claimed_turn_is_granted_as_by_begin(table):
    grant = table.grant(table.plan_one())
    claim = table.claim(process="worker/1", parent_id="parent", task_id="task")
    answer = table.commit(grant, "said", then=plan(table, grant), claim=claim)
    assert (answer.word, answer.numbers) == ("committed", (2,))
    granted = answer.grant
    assert (granted.number, granted.scope, granted.token) == (2, "floor", claim.token)
    assert (granted.fence, granted.grants, granted.failures, granted.takeovers) == (2, 1, 0, 0)
    assert ["said" in text for _, text in granted.messages] == [True]
    assert table.owner() == claim.token
    assert 0 < table.lease_ms() <= claim.lease_ms
    record = answer.state.records[2]
    assert (record.status, record.token, record.process) == ("speaking", claim.token, "worker/1")
    begun = table.begin(2, token=claim.token, process="worker/1", parent_id="parent", task_id="task")
    assert begun.word == "granted"
    assert begun.grant == granted
    (_, event) = table.payloads("MAPTurnDispatched")
    assert (event["task_id"], event["parent_id"], event["token_id"]) == ("task", "parent", claim.token)
    assert event["waited_ms"] == 0


def test_claimed_turn_can_be_written(table):
    grant = table.grant(table.plan_one())
    answer = table.commit(grant, "one", then=plan(table, grant), claim=table.claim())
    assert table.commit(answer.grant, "two").word == "committed"
    assert table.texts() == ["one", "two"]
    assert table.owner() is None


def test_worker_gets_only_messages_after_those_that_it_has(table):
    first = table.grant(table.plan_one())
    second = table.commit(first, "one", then=plan(table, first), claim=table.claim()).grant
    ((entry, text),) = second.messages
    seen = SeenMessage(entry, sha1(text.encode(), usedforsecurity=False).hexdigest())
    third = table.commit(second, "two", then=plan(table, second), claim=table.claim(), seen=seen).grant
    assert third.continues
    assert [table.texts()[1] in text for _, text in third.messages] == [True]
    fourth = table.commit(third, "three", then=plan(table, third), claim=table.claim(window=2)).grant
    assert not fourth.continues
    assert len(fourth.messages) == 2


def test_repeated_commit_leaves_the_grant(table):
    """The worker asks for it again with `begin`, under the same token."""
    grant = table.grant(table.plan_one())
    then, claim, texts = plan(table, grant), table.claim(), ["said"]
    output = table.speech(grant, *texts)
    answers = [table.store.commit(table.id, grant, output, then=then, claim=claim) for _ in range(2)]
    assert [answer.word for answer in answers] == ["committed", "done"]
    assert answers[1].grant is None
    assert answers[1].state.records[2].token == claim.token
    assert table.begin(2, token=claim.token).grant.fence == answers[0].grant.fence
    assert len(table.payloads("MAPTurnDispatched")) == 2


@pytest.mark.parametrize(
    ("turns", "scope"),
    [((turn("bob"), turn("cyd", "slot:cyd")), "floor"), ((turn("bob", "slot:bob"),), "floor")],
    ids=["of two turns", "of another scope"],
)
def test_other_plans_are_only_planned(table, turns, scope):
    grant = table.grant(table.plan_one())
    answer = table.commit(grant, "said", then=plan(table, grant, *turns), claim=table.claim(scope=scope))
    assert answer.grant is None
    assert answer.numbers == tuple(range(2, 2 + len(turns)))
    assert {answer.state.records[number].status for number in answer.numbers} == {"planned"}
    assert table.owner() is None
    assert table.grant(2, scope=turns[0].scope).fence == 2


def test_outdated_plan_grants_nothing(table):
    grant = table.grant(table.plan_one())
    then = replace(plan(table, grant), expected=99)
    answer = table.commit(grant, "said", then=then, claim=table.claim())
    assert (answer.word, answer.numbers, answer.grant) == ("committed", (), None)
    assert table.owner() is None


def test_end_of_the_session_grants_nothing(table):
    grant = table.grant(table.plan_one())
    then = table.write(Finish(reason="satisfied"), after=grant.number)
    answer = table.commit(grant, "said", then=then, claim=table.claim())
    assert (answer.grant, answer.state.is_final, table.owner()) == (None, True, None)


def test_turn_that_another_worker_holds_is_not_granted(table, client):
    number, _ = table.plan(turn("ann", "slot:ann"), turn("bob", "slot:bob"))
    grant = table.grant(number, scope="slot:ann")
    then = table.write(Step(turns=(turn("cyd", "slot:cyd"),)), after=number)
    client.set(lock_key(table.id, "slot:cyd"), "other|9999999999999")
    answer = table.commit(grant, "said", then=then, claim=table.claim(scope="slot:cyd"))
    assert (answer.word, answer.numbers, answer.grant) == ("committed", (3,), None)
    assert answer.state.records[3].status == "planned"
    assert table.owner("slot:cyd") == "other"
    table.expire("slot:cyd")


def test_nothing_is_granted_after_the_deadline(client):
    table = Table(client, opened=False)
    table.open(deadline_s=0.05)
    grant = table.grant(table.plan_one())
    then = plan(table, grant)
    until(lambda: table.state().now_ms >= table.state().deadline_ms)
    answer = table.commit(grant, "said", then=then, claim=table.claim())
    assert (answer.numbers, answer.grant) == ((2,), None)


def test_suspended_session_grants_nothing(table):
    grant = table.grant(table.plan_one())
    then = plan(table, grant)
    table.suspend()
    answer = table.commit(grant, "said", then=then, claim=table.claim())
    assert (answer.word, answer.grant) == ("held", None)


def test_snapshot_ends_with_the_messages_before_the_step(table):
    grant = table.grant(table.plan_one())
    then = plan(table, grant, turn("bob", snapshot=True))
    granted = table.commit(grant, "said", then=then, claim=table.claim()).grant
    assert len(granted.messages) == 1
