"""A turn waits for a worker with its agent, without an attempt."""

from __future__ import annotations

from sessions.table import Table, until

MINUTE = 60_000


def mark(table: Table, number: int, agent: str | None = "ada") -> str:
    return table.store.await_agent(table.id, table.state().records[number], agent, delay_ms=MINUTE).word


def test_waiting_turn_has_no_attempt_and_no_event(table: Table):
    number, events = table.plan_one(), table.client.xlen(table.key("events"))
    answer = table.store.await_agent(table.id, table.state().records[number], "ada", delay_ms=MINUTE)
    record, state = table.state().records[number], table.state()
    assert (answer.word, record.lacks, record.status, record.grants) == ("deferred", "ada", "planned", 0)
    assert MINUTE - 5_000 < answer.due_ms - state.now_ms <= MINUTE
    assert (state.fence, table.client.xlen(table.key("events"))) == (0, events)
    assert table.sweep().numbers == ()


def test_known_agent_makes_the_turn_due(table: Table):
    number = table.plan_one()
    assert mark(table, number, None) == "done", "it does not wait"
    mark(table, number)
    assert mark(table, number, None) == "deferred"
    assert table.state().awaited_agents == ()
    assert until(lambda: table.sweep().numbers) == (number,)


def test_begun_turn_waits_for_no_agent(table: Table):
    number = table.plan_one()
    mark(table, number)
    mark(table, number, None)
    mark(table, number)
    table.client.hset(table.key("turns"), str(number), _due_now(table, number))
    table.grant(number)
    assert table.state().awaited_agents == ()
    assert mark(table, number) == "done", "its worker has it"


def test_turn_of_a_lost_worker_waits_too(table: Table):
    number = table.plan_one()
    table.expire_grant(number)
    assert mark(table, number) == "deferred"
    assert table.state().records[number].status == "speaking"
    assert table.sweep().numbers == ()
    mark(table, number, None)
    assert until(lambda: table.sweep().numbers) == (number,)


def test_retry_does_not_become_due_earlier(table: Table):
    number = table.plan_one()
    table.store.fail(table.id, table.grant(number), delay_ms=10 * MINUTE, error="no")
    due_ms = table.store.await_agent(table.id, table.state().records[number], "ada", delay_ms=MINUTE).due_ms
    assert due_ms - table.state().now_ms > 9 * MINUTE
    assert table.state().awaited_agents == ()


def _due_now(table: Table, number: int) -> str:
    raw = table.client.hget(table.key("turns"), str(number))
    return raw.replace('"not_before":', '"not_before":0,"was":')
