"""`begin`: one live token a scope, and fencing numbers that only rise."""

from concurrent.futures import ThreadPoolExecutor

from sessions.table import Table, turn, until
from symposia.models.sessions.plan import Step
from symposia.models.text.ids import new_id
from symposia.state.turns.deltas import ListenerRegistration


def test_grant_has_all_a_speaker_needs(table):
    answer = table.begin(table.plan_one())
    grant = answer.grant
    assert (grant.number, grant.scope, grant.fence, grant.grants) == (1, "floor", 1, 1)
    assert (grant.failures, grant.takeovers, grant.substitute, grant.messages) == (0, 0, None, ())
    assert answer.state.records[1].status == "speaking"
    assert table.owner() == grant.token


def test_dispatch_event_has_token_and_task(table):
    number = table.plan_one(participant="bob")
    grant = table.grant(number, task_id="the-task", parent_id="the-planner")
    (event,) = table.events("MAPTurnDispatched")
    payload = event["payload"]
    assert (payload["token_id"], payload["fence"], payload["attempt"]) == (grant.token, 1, 1)
    assert (payload["task_id"], payload["parent_id"]) == ("the-task", "the-planner")
    assert event["target_roles"] == ["bob"]


def test_dispatch_without_a_parent_names_none(table):
    table.grant(table.plan_one())
    (payload,) = table.payloads("MAPTurnDispatched")
    assert "parent_id" not in payload


def test_worker_that_was_not_admitted_gets_no_turn(table):
    number = table.plan_one()
    assert table.begin(number, admitted=False).word == "early"
    assert table.owner() is None


def test_fencing_numbers_always_rise(table):
    numbers = table.plan(turn("ann", "a"), turn("bob", "b"), turn("cyd", "c"))
    fences = [table.grant(number, scope=scope).fence for number, scope in zip(numbers, "abc", strict=True)]
    table.expire("b")
    fences.append(table.grant(numbers[1], scope="b").fence)
    assert fences == [1, 2, 3, 4]


def test_one_of_eight_workers_gets_the_turn(table):
    for _ in range(5):
        number = table.plan_one()
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _, number=number: table.begin(number), range(8)))
        assert sorted(answer.word for answer in answers) == ["busy"] * 7 + ["granted"]
        table.commit(next(answer.grant for answer in answers if answer.grant), "hello")


def test_turns_of_one_scope_do_not_run_concurrently(table):
    one, two = table.plan(turn("ann"), turn("bob"))
    grant = table.grant(one)
    assert table.begin(two).word == "busy"
    table.commit(grant)
    assert table.begin(two).word == "granted"


def test_two_scopes_run_in_parallel(table):
    one, two = table.plan(turn("ann", "slot:ann"), turn("bob", "slot:bob"))
    table.grant(one, scope="slot:ann")
    table.grant(two, scope="slot:bob")
    assert {table.owner("slot:ann"), table.owner("slot:bob")} == {
        payload["token_id"] for payload in table.payloads("MAPTurnDispatched")
    }


def test_same_token_gets_the_same_grant(table):
    number, token = table.plan_one(), new_id()
    first, second = (table.grant(number, token=token) for _ in range(2))
    assert first == second
    assert len(table.events("MAPTurnDispatched")) == 1
    assert table.state().fence == 1


def test_expired_token_is_never_granted_again(table):
    number, token = table.plan_one(), new_id()
    table.grant(number, token=token)
    table.expire()
    assert table.begin(number, token=token).word == "lost"
    assert table.grant(number).fence == 2
    assert table.begin(number, token=token).word == "lost"
    table.expire()
    assert table.begin(number, token=token).word == "lost", "however many came after it"


def test_token_that_gave_its_turn_back_is_not_reused(table):
    grant = table.grant(table.plan_one())
    table.fail(grant)
    assert table.begin(grant.number, token=grant.token).word == "lost"


def test_token_holds_only_its_own_turn(table):
    one, two = table.plan(turn("ann"), turn("bob"))
    grant = table.grant(one)
    assert table.begin(two, token=grant.token).word == "busy"


def test_takeover_closes_the_lost_grant(table):
    number = table.plan_one()
    lost = table.grant(number)
    table.expire()
    taken = table.grant(number)
    assert (taken.grants, taken.takeovers, taken.fence) == (2, 1, 2)
    (closed,) = table.payloads("MAPTurnCompleted")
    assert (closed["token_id"], closed["result"]) == (lost.token, {"outcome": "expired", "messages": 0})


def test_a_turn_written_or_consumed_is_done(table):
    number = table.plan_one()
    table.speak(number)
    assert table.begin(number).word == "done"
    table.plan()
    assert number not in table.state().records
    answer = table.begin(number)
    assert (answer.word, answer.state.closed) == ("done", 1)


def test_unplanned_turn_is_unknown(table):
    assert table.begin(1).word == "unknown"
    table.plan_one()
    assert table.begin(2).word == "unknown"


def test_wrong_scope_is_unknown(table):
    number = table.plan_one()
    assert table.begin(number, scope="slot:ann").word == "unknown"
    assert table.owner() is table.owner("slot:ann") is None


def test_paused_or_ended_session_grants_no_turn(table):
    number = table.plan_one()
    table.suspend()
    assert table.begin(number).word == "inactive"
    table.cancel()
    answer = table.begin(number)
    assert (answer.word, answer.state.status) == ("inactive", "cancelled")
    assert table.state().fence == 0


def test_no_turn_begins_after_the_session_deadline(client):
    table = Table(client, opened=False)
    table.open(deadline_s=0.001)
    number = table.plan_one()
    answer = until(lambda: (a := table.begin(number)).word == "overdue" and a)
    assert answer.state.deadline_ms <= answer.state.now_ms


def test_turns_begin_before_the_sessions_deadline(client):
    table = Table(client, opened=False)
    table.open(deadline_s=3_600)
    assert table.begin(table.plan_one()).word == "granted"


def test_lease_is_never_longer_than_the_turn_timeout(table):
    table.grant(table.plan_one(), lease_ms=30_000, timeout_ms=10_000)
    assert 0 < table.lease_ms() <= 10_000


def test_window_has_the_newest_messages_in_order(table):
    for text in ("one", "two", "three"):
        table.speak(table.plan_one(), text)
        table.plan()
    texts = table.texts()
    assert texts == ["one", "two", "three"]
    for window, expected in ((0, ()), (1, texts[2:]), (2, texts[1:]), (9, texts)):
        number = table.plan_one()
        grant = table.grant(number, window=window)
        assert [text for _, message in grant.messages for text in expected if f'"{text}"' in message] == list(
            expected
        )
        assert len(grant.messages) == len(expected)
        table.commit(grant)


def test_snapshot_hides_messages_after_its_plan(table):
    table.speak(table.plan_one(), "before")
    one, two = table.plan(turn("bob", "slot:bob", snapshot=True), turn("cyd", "slot:cyd", snapshot=True))
    table.speak(one, "after", scope="slot:bob")
    ((_, only),) = table.grant(two, scope="slot:cyd").messages
    assert "before" in only


def test_a_snapshot_of_an_empty_dialog_is_empty(table):
    one, two = table.plan(turn("bob", "slot:bob", snapshot=True), turn("cyd", "slot:cyd", snapshot=True))
    table.speak(one, "hello", scope="slot:bob")
    assert table.grant(two, scope="slot:cyd").messages == ()


def test_grant_says_whether_somebody_reads_live_text(table):
    for is_read in (False, True):
        if is_read:
            ListenerRegistration(table.client, table.id).refresh()
        grant = table.grant(table.plan_one())
        assert grant.has_reader is is_read
        table.commit(grant)


def test_snapshot_of_a_commit_includes_its_messages(table):
    grant = table.grant(table.plan_one())
    step = Step(turns=(turn("bob", snapshot=True),))
    (number,) = table.commit(grant, "seen", then=table.write(step, after=grant.number)).numbers
    ((_, only),) = table.grant(number).messages
    assert "seen" in only
