"""`commit`: a turn is written once, by its current holder, all or nothing."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from sessions.table import turn
from symposia.models.sessions.plan import Finish, Step
from symposia.models.turns.turn import OutcomeKind, Usage
from symposia.state.redis.keys import lock_key

ONE = Step(turns=(turn("bob"),))


def test_commit_writes_messages_counters_and_event(table):
    grant = table.grant(table.plan_one())
    usage = Usage(input_tokens=10, output_tokens=4, requests=1, cost_micros=250)
    answer = table.commit(grant, "one", "two", usage=usage)
    assert answer.word == "committed"
    assert table.texts() == ["one", "two"]
    assert (answer.state.closed, answer.state.messages, answer.state.usage) == (1, 2, usage)
    (closed,) = table.payloads("MAPTurnCompleted")
    assert closed["token_id"] == grant.token
    assert closed["result"] == {"outcome": "message", "messages": 2, "usage": usage.model_dump()}
    assert table.owner() is None


def test_the_planner_gets_the_result_the_worker_wrote(table):
    answer = table.speak(table.plan_one(), "hello", result='{"number": 1, "anything": [null, "é", {}]}')
    (record,) = answer.state.unconsumed()
    assert (record.result, record.plan) == ('{"number": 1, "anything": [null, "é", {}]}', None)


def test_usage_is_summed_over_turns(table):
    for output_tokens in (1, 2, 3):
        table.speak(table.plan_one(), "hello", usage=Usage(output_tokens=output_tokens, requests=1))
        table.plan()
    assert table.state().usage == Usage(output_tokens=6, requests=3)


def test_pass_writes_nothing_and_failure_its_error(table):
    one, two = table.plan(turn("ann"), turn("bob", "slot:bob"))
    table.speak(one)
    table.speak(two, scope="slot:bob", kind=OutcomeKind.FAILED, error="no answer")
    assert table.texts() == []
    assert [p["result"].get("error") for p in table.payloads("MAPTurnCompleted")] == [None, "no answer"]
    assert table.outcomes() == ["passed", "failed"]


def test_skipped_turns_are_counted(table):
    one, two = table.plan(turn("ann", "a"), turn("bob", "b"))
    assert table.speak(one, "hello", scope="a").state.skipped == 0
    assert table.speak(two, scope="b", kind=OutcomeKind.SKIPPED).state.skipped == 1
    assert "MAPBroadcastReceived" not in table.kinds()


def test_messages_left_out_are_counted(table):
    one, two = table.plan(turn("ann", "a"), turn("bob", "b"))
    table.speak(one, "hello", scope="a", left_out=3)
    table.speak(two, "hello", scope="b")
    assert [p["result"].get("left_out") for p in table.payloads("MAPTurnCompleted")] == [3, None]


def test_repeated_commit_is_done(table):
    grant = table.grant(table.plan_one())
    words = [table.commit(grant, "hello").word for _ in range(3)]
    assert words == ["committed", "done", "done"]
    assert table.texts() == ["hello"]
    table.plan()
    assert table.commit(grant, "hello").word == "done"
    assert not table.events("MAPConflictDetected")


def test_eight_concurrent_commits_write_once(table):
    grant = table.grant(table.plan_one())
    with ThreadPoolExecutor(8) as pool:
        words = sorted(answer.word for answer in pool.map(lambda _: table.commit(grant, "hello"), range(8)))
    assert words == ["committed"] + ["done"] * 7
    assert table.texts() == ["hello"]


def test_commit_after_the_lease_is_refused(table):
    grant = table.grant(table.plan_one())
    table.expire()
    answer = table.commit(grant, "too late")
    assert (answer.word, table.texts()) == ("stale", [])
    (detected,), (resolved,) = table.payloads("MAPConflictDetected"), table.payloads("MAPConflictResolved")
    assert detected["refused_token_id"] == resolved["refused_token_id"] == grant.token
    assert (detected["conflict"], resolved["resolution"]) == ("stale_token", "refused")
    assert answer.state.records[1].status == "speaking", "it is still owed to somebody"


def test_lock_alone_does_not_permit_a_commit(table):
    number = table.plan_one()
    late = table.expire_grant(number)
    table.grant(number)
    table.client.set(lock_key(table.id, "floor"), f"{late.token}|{late.fence}")
    assert table.commit(late, "stale").word == "stale"
    assert table.texts() == []
    table.expire()


def test_later_holder_of_a_turn_writes_it(table):
    number = table.plan_one()
    late = table.grant(number)
    table.expire()
    grant = table.grant(number)
    assert table.commit(late, "stale").word == "stale"
    assert table.commit(grant, "fresh").word == "committed"
    assert table.commit(late, "stale").word == "stale"
    assert table.texts() == ["fresh"]
    tokens = [(p.get("token_id"), p["refused_token_id"]) for p in table.payloads("MAPConflictDetected")]
    assert tokens == [(grant.token, late.token), (None, late.token)]


def test_late_writer_differs_from_a_repeated_commit(table):
    number = table.plan_one()
    late = table.grant(number)
    table.expire()
    grant = table.grant(number)
    table.commit(grant, "fresh", then=table.write(ONE, after=number))
    assert number not in table.state().records
    assert table.commit(grant, "fresh").word == "done"
    assert table.commit(late, "stale").word == "stale"
    assert len(table.payloads("MAPConflictResolved")) == 1


def test_late_writer_after_the_end_is_in_the_journal(table):
    number = table.plan_one()
    late = table.grant(number)
    table.expire()
    grant = table.grant(number)
    table.commit(grant, "fresh", then=table.write(Finish(reason="satisfied"), after=number))
    assert table.commit(late, "stale").word == "stale"
    assert table.kinds()[-1] == "MAPSessionCompleted"
    (refused,) = table.journal("turn.refused")
    assert refused["data"]["refused_token_id"] == late.token


def test_commit_of_an_unplanned_turn_is_unknown(table):
    grant = table.grant(table.plan_one())
    for number in (2, 7):
        assert table.commit(replace(grant, number=number), "hello").word == "unknown"
    table.client.flushall()
    assert table.commit(grant, "hello").word == "missing"


def test_commit_after_cancel_is_dropped_and_recorded(table):
    grant = table.grant(table.plan_one())
    table.cancel()
    answer = table.commit(grant, "too late")
    assert (answer.word, answer.state.status, table.texts()) == ("inactive", "cancelled", [])
    (dropped,) = table.journal("turn.dropped")
    assert dropped["data"] == {"turn_number": 1, "participant_id": "ann", "token_id": grant.token}
    assert table.outcomes() == ["cancelled"]
    assert table.commit(grant, "too late").word == "inactive"


def test_commit_of_a_dropped_turn_is_in_the_journal(table):
    one, two = table.plan(turn("ann", "a"), turn("bob", "b"))
    grant = table.grant(one, scope="a")
    table.plan(drop=(one,))
    assert [table.commit(grant, "too late").word for _ in range(2)] == ["inactive"] * 2
    assert len(table.journal("turn.dropped")) == 2
    assert table.speak(two, "hello", scope="b").word == "committed"


def test_commit_writes_its_plan_atomically(table):
    grant = table.grant(table.plan_one())
    write = table.write(ONE, after=grant.number)
    answer = table.commit(grant, "hello", then=write)
    assert (answer.word, answer.numbers, answer.state.planned_by) == ("committed", (2,), write.plan_id)
    assert list(answer.state.records) == [2], "the turn is consumed by the plan that was made for it"


def test_turn_that_the_plan_does_not_consume_stays(table):
    one, two = table.plan(turn("ann", "a"), turn("bob", "b"))
    table.speak(one, "first", scope="a")
    grant = table.grant(two, scope="b")
    answer = table.commit(grant, "second", then=table.write(ONE))  # made before this turn was written
    assert (answer.word, answer.numbers) == ("committed", (3,))
    assert list(answer.state.records) == [two, 3]
    assert answer.state.records[two].status == "closed"


def test_end_may_be_written_with_a_commit(table):
    grant = table.grant(table.plan_one())
    answer = table.commit(
        grant, "the last word", then=table.write(Finish(reason="satisfied"), after=grant.number)
    )
    assert (answer.word, answer.state.status) == ("committed", "completed")
    assert table.kinds()[-2:] == ["MAPTurnCompleted", "MAPSessionCompleted"]
    assert table.payloads("MAPSessionCompleted")[0]["turns"] == 1
    assert table.commit(grant, "the last word").word == "done"


def test_plan_for_another_version_is_dropped(table):
    one, two = table.plan(turn("ann", "a"), turn("bob", "b"))
    grant = table.grant(one, scope="a")
    ahead = table.write(ONE, after=one)
    table.plan(drop=(two,))
    answer = table.commit(grant, "hello", then=ahead)
    assert (answer.word, answer.numbers) == ("committed", ())
    assert [record.number for record in answer.state.unconsumed()] == [one], "left to a plan of its own"


def test_plan_made_before_a_stop_request_is_dropped(table):
    grant = table.grant(table.plan_one())
    ahead = table.write(ONE, after=grant.number)
    table.store.request_stop(table.id)
    answer = table.commit(grant, "hello", then=ahead)
    assert (answer.word, answer.numbers, answer.state.stop_requested) == ("committed", (), True)
    assert not answer.state.open_turns()


def test_refused_commit_writes_no_plan(table):
    grant = table.grant(table.plan_one())
    ahead = table.write(ONE, after=grant.number)
    table.expire()
    assert table.commit(grant, "too late", then=ahead).word == "stale"
    assert table.state().next_number == 2


def test_messages_of_one_commit_stay_together(table):
    names = [f"slot:{i}" for i in range(8)]
    numbers = table.plan(*(turn("ann", name) for name in names))
    grants = [table.grant(number, scope=name) for number, name in zip(numbers, names, strict=True)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda grant: table.commit(grant, *(f"{grant.number}.{i}" for i in range(5))), grants))
    by_turn = [message["event"]["data"]["turn_number"] for message in table.messages()]
    assert [by_turn[i] for i in range(0, 40, 5)] == sorted(by_turn[::5], key=by_turn.index)
    assert all(len(set(by_turn[i : i + 5])) == 1 for i in range(0, 40, 5))


def test_last_64_tokens_identify_repeated_commits(table):
    first = table.grant(table.plan_one())
    table.commit(first, "hello")
    grants = []
    for _ in range(63):
        grants.append(table.grant(table.plan_one()))
        table.commit(grants[-1])
    assert [table.commit(grant).word for grant in (first, *grants)] == ["done"] * 64
    slots = [name for name in table.client.hkeys(table.key("session")) if name.startswith("token:")]
    assert len(slots) == 64
