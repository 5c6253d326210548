"""`sweep`: due work of a session is found, sent once, and no more often than needed."""

from concurrent.futures import ThreadPoolExecutor

from sessions.table import turn, until
from symposia.models.sessions.plan import Step

#: A grace no test waits for.
LONG = 60_000
#: One that passes while a test polls.
SHORT = 20


def age(table, number, ms):
    """Lets a turn look as if it had been dispatched earlier."""
    key = table.key("turns")
    raw = table.client.hget(key, str(number))
    stamp = raw.split('"dispatched_ms":')[1].split(",")[0].rstrip("}")
    table.client.hset(
        key, str(number), raw.replace(f'"dispatched_ms":{stamp}', f'"dispatched_ms":{int(stamp) - ms}')
    )


def test_session_is_next_checked_when_something_is_due(table):
    table.plan_one()
    answer = table.sweep(grace_ms=LONG)
    assert (answer.word, answer.numbers, answer.advance) == ("swept", (), False)
    assert 0 < answer.due_ms - answer.state.now_ms <= LONG


def test_lost_dispatch_is_retried_with_backoff(table):
    number = table.plan_one()
    for factor in (1, 2, 4, 8, 16, 32, 64, 64, 64):
        age(table, number, LONG * factor - 5_000)
        assert table.sweep(grace_ms=LONG).numbers == (), f"before {factor} times the grace"
        age(table, number, 5_000)
        answer = table.sweep(grace_ms=LONG)
        assert answer.numbers == (number,), f"after {factor} times the grace"
        assert answer.due_ms - answer.state.now_ms <= LONG
    assert table.state().records[number].dispatches == 9


def test_begin_resets_the_dispatch_count(table):
    number = table.plan_one()
    age(table, number, LONG)
    assert table.sweep(grace_ms=LONG).numbers == (number,)
    table.grant(number)
    assert table.state().records[number].dispatches == 0


def test_two_sweeps_send_a_turn_once(table):
    numbers = table.plan(*(turn("ann", f"slot:{i}") for i in range(5)))
    for number in numbers:
        age(table, number, LONG)
    with ThreadPoolExecutor(8) as pool:
        given = [answer.numbers for answer in pool.map(lambda _: table.sweep(grace_ms=LONG), range(8))]
    assert sorted(number for found in given for number in found) == list(numbers)
    assert sum(1 for found in given if found) == 1


def test_sweep_leaves_a_running_turn_with_a_lease(table):
    grant = table.grant(table.plan_one(), lease_ms=5_000)
    answer = table.sweep(grace_ms=0)
    assert answer.numbers == ()
    assert 0 < answer.due_ms - answer.state.now_ms <= 5_001
    table.expire()
    assert table.sweep(grace_ms=LONG).numbers == (grant.number,), "at once, whatever the grace"
    answer = table.sweep(grace_ms=LONG)
    assert answer.numbers == (), "and then only after the grace"
    assert answer.due_ms - answer.state.now_ms <= LONG


def test_expired_turn_is_dispatched_again_after_grace(table):
    number = table.expire_grant(table.plan_one()).number
    first = until(lambda: (a := table.sweep(grace_ms=SHORT)).numbers == (number,) and a)
    second = until(lambda: (a := table.sweep(grace_ms=SHORT)).numbers == (number,) and a)
    third = until(lambda: (a := table.sweep(grace_ms=SHORT)).numbers == (number,) and a)
    assert second.state.now_ms - first.state.now_ms >= SHORT
    assert third.state.now_ms - second.state.now_ms >= 2 * SHORT


def test_turn_is_not_sent_while_its_scope_is_taken(table):
    one, two = table.plan(turn("ann"), turn("bob"))
    table.expire_grant(one)
    table.grant(two, lease_ms=7_000)
    answer = table.sweep(grace_ms=LONG)
    assert answer.numbers == ()
    assert answer.due_ms - answer.state.now_ms <= 7_001


def test_failed_turn_is_dispatched_after_its_delay(table):
    grant = table.grant(table.plan_one())
    due_ms = table.fail(grant, delay_ms=50).due_ms
    while not (answer := table.sweep(grace_ms=LONG)).numbers:
        assert answer.due_ms == due_ms
    assert answer.numbers == (grant.number,)
    assert answer.state.now_ms >= due_ms


def test_unplanned_step_is_requested_once_per_grace(table):
    table.speak(table.plan_one())
    answer = table.sweep(grace_ms=LONG)
    assert (answer.advance, answer.numbers) == (False, ())
    assert answer.due_ms - answer.state.now_ms <= LONG
    first = until(lambda: (a := table.sweep(grace_ms=SHORT)).advance and a)
    assert not table.sweep(grace_ms=LONG).advance
    second = until(lambda: (a := table.sweep(grace_ms=SHORT)).advance and a)
    assert second.state.now_ms - first.state.now_ms >= SHORT
    assert not table.state().open_turns(), "a sweep plans nothing itself"


def test_never_planned_session_is_found(table):
    assert until(lambda: table.sweep(grace_ms=SHORT).advance)


def test_closed_turn_beside_open_ones_requests_a_plan(table):
    one, _ = table.plan(turn("ann", "a"), turn("bob", "b"))
    table.speak(one, scope="a")
    assert until(lambda: table.sweep(grace_ms=SHORT).advance)


def test_a_parked_turn_keeps_no_session_from_stopping(table):
    table.park(table.grant(table.plan_one()), "r")
    assert not table.sweep(grace_ms=0).advance
    table.store.request_stop(table.id)
    assert table.sweep(grace_ms=0).advance


def test_running_turn_delays_a_requested_stop(table):
    table.grant(table.plan_one())
    table.store.request_stop(table.id)
    assert not table.sweep(grace_ms=0).advance


def test_the_sessions_deadline_is_a_due_time(table):
    table.grant(table.plan_one())
    deadline_ms = table.state().now_ms + 30
    table.client.hset(table.key("session"), "deadline_ms", deadline_ms)
    answer = table.sweep(grace_ms=1)
    assert answer.due_ms <= deadline_ms or answer.state.now_ms >= deadline_ms
    answer = until(lambda: (a := table.sweep(grace_ms=1)).advance and a)
    assert answer.state.now_ms >= deadline_ms
    assert answer.due_ms > answer.state.now_ms


def test_suspended_session_is_checked_each_minute(table):
    table.plan_one()
    table.suspend()
    answer = table.sweep(grace_ms=0)
    assert (answer.word, answer.numbers, answer.advance) == ("swept", (), False)
    assert answer.due_ms - answer.state.now_ms == 60_000


def test_ended_and_expired_sessions_are_recognised(table):
    table.cancel()
    assert table.sweep().word == "ended"
    table.client.flushall()
    assert table.sweep().word == "missing"


def test_a_dropped_turn_is_remembered_for_ten_minutes(table):
    grant = table.grant(table.plan_one())
    table.plan(drop=(grant.number,))
    table.sweep()
    assert grant.number in table.state().records
    key = table.key("turns")
    raw = table.client.hget(key, str(grant.number))
    stamp = int(raw.split('"settled_ms":')[1].split(",")[0].rstrip("}"))
    table.client.hset(key, str(grant.number), raw.replace(str(stamp), str(stamp - 600_001)))
    table.sweep()
    assert grant.number not in table.state().records
    assert table.commit(grant, "very late").word == "stale"


def test_turn_planned_during_a_sweep_waits(table):
    one = table.plan_one()
    scopes = table.store.state(table.id)
    table.store.plan(table.id, table.write(Step(turns=(turn("bob", "b"),)), state=scopes))
    table.grant(2, scope="b")
    answer = table.store._run(
        "sessions/sweep",
        table.id,
        {"grace_ms": LONG, "taken_ms": "", "probes": 0},
        locks=["floor"],
        rest_args=["floor"],
    )
    assert answer.numbers == ()
    assert answer.due_ms - answer.state.now_ms <= LONG + 1
    assert one in answer.state.records
