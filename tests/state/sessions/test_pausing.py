"""`suspend`, `resume`, `stop`: running turns are not lost and nothing is written meanwhile."""

import pytest

from sessions.table import turn
from symposia.models.errors import IllegalTransition
from symposia.models.sessions.plan import Step
from symposia.models.turns.turn import Usage


def steps(table):
    return [event["event_type"] for event in table.journal()]


def test_session_and_dialog_pause_and_resume_together(table):
    state = table.suspend()
    assert (state.status, state.dialog_status) == ("suspended", "paused")
    state = table.resume()
    assert (state.status, state.dialog_status) == ("active", "active")
    assert steps(table) == ["session.created", "session.active", "session.suspended", "session.active"]
    assert [event["data"]["dialog"] for event in table.journal()] == ["active", "active", "paused", "active"]


def test_actor_is_that_of_the_newest_change(table):
    assert table.store.suspend(table.id, by="lena").actor == "lena"
    assert table.resume().actor is None
    assert [event["data"].get("by") for event in table.journal()[-2:]] == ["lena", None]


def test_invalid_transitions_are_refused(table):
    with pytest.raises(IllegalTransition, match="session is already active"):
        table.resume()
    table.suspend()
    with pytest.raises(IllegalTransition, match="suspended"):
        table.suspend()
    table.cancel()
    for move in (table.suspend, table.resume, table.cancel, lambda: table.store.request_stop(table.id)):
        with pytest.raises(IllegalTransition, match=r"session (is already cancelled|has already ended)"):
            move()
    assert steps(table)[-1] == "session.cancelled"


def test_output_while_suspended_is_written_on_resume(table):
    grant = table.grant(table.plan_one())
    table.suspend()
    usage = Usage(output_tokens=3)
    assert table.commit(grant, "hello", usage=usage).word == "held"
    state = table.state()
    assert (state.closed, state.messages, state.usage, table.texts()) == (0, 0, usage, [])
    assert state.records[grant.number].status == "held"
    assert table.owner() is None

    state = table.resume()
    assert (state.closed, state.messages, state.usage, table.texts()) == (1, 1, usage, ["hello"])
    (record,) = state.unconsumed()
    assert record.number == grant.number
    assert table.commit(grant, "hello").word == "done"


def test_held_turns_are_written_once_and_in_order(table):
    scopes = [f"slot:{i}" for i in range(12)]  # numbers with one digit, and with two
    numbers = table.plan(*(turn("ann", scope) for scope in scopes))
    grants = [table.grant(number, scope=scope) for number, scope in zip(numbers, scopes, strict=True)]
    table.suspend()
    for grant in reversed(grants):
        assert [table.commit(grant, f"turn {grant.number}").word for _ in range(2)] == ["held", "held"]
    table.resume()
    table.suspend()
    table.resume()
    assert table.texts() == [f"turn {number}" for number in numbers]


def test_held_turn_refuses_every_other_writer(table):
    number = table.plan_one()
    late = table.grant(number)
    table.expire()
    grant = table.grant(number)
    table.suspend()
    table.commit(grant, "held")
    assert table.commit(late, "stale").word == "stale"
    assert table.fail(grant).word == "stale"
    assert not table.renew(grant)
    table.resume()
    assert table.texts() == ["held"]


def test_lease_may_expire_during_a_pause(table):
    number = table.plan_one()
    grant = table.grant(number)
    table.suspend()
    table.expire()
    assert table.commit(grant, "too late").word == "stale"
    table.resume()
    table.speak(number, "again")
    assert table.texts() == ["again"]


def test_held_commit_writes_no_plan(table):
    grant = table.grant(table.plan_one())
    ahead = table.write(Step(turns=(turn("bob"),)), after=grant.number)
    table.suspend()
    assert table.commit(grant, "hello", then=ahead).word == "held"
    state = table.resume()
    assert (state.next_number, len(state.unconsumed())) == (2, 1)


def test_broadcast_answers_arrive_on_resume(table):
    number = table.plan_one(broadcast=True)
    grant = table.grant(number)
    table.suspend()
    table.commit(grant, "hello")
    assert not table.events("MAPBroadcastReceived")
    table.resume()
    assert len(table.events("MAPBroadcastReceived")) == 1


def test_cancel_drops_held_turns_on_record(table):
    grant = table.grant(table.plan_one())
    table.suspend()
    table.commit(grant, "never written")
    state = table.cancel()
    assert (state.status, state.closed, table.texts()) == ("cancelled", 0, [])
    assert table.outcomes() == ["cancelled"]
    (dropped,) = table.journal("turn.dropped")
    assert dropped["data"]["token_id"] == grant.token
    assert table.commit(grant, "never written").word == "inactive"


def test_cancelled_session_is_active_in_between(table):
    table.suspend()
    state = table.cancel()
    assert (state.status, state.dialog_status) == ("cancelled", "cancelled")
    assert steps(table)[2:] == ["session.suspended", "session.active", "session.cancelled"]


def test_an_active_session_is_cancelled_at_once(table):
    table.cancel()
    assert steps(table)[2:] == ["session.cancelled"]


def test_stop_keeps_running_turns_and_outdates_plans(table):
    grant = table.grant(table.plan_one())
    write = table.write(Step(turns=(turn("bob"),)))
    state = table.store.request_stop(table.id)
    assert (state.status, state.stop_requested) == ("active", True)
    assert table.store.plan(table.id, write).word == "outdated"
    assert table.commit(grant, "hello").word == "committed"
    assert table.finish("stopped").state.status == "completed"


def test_repeated_stop_request_changes_nothing(table):
    versions = [table.store.request_stop(table.id).version for _ in range(3)]
    assert len(set(versions)) == 1
    assert steps(table).count("session.stop.requested") == 1


def test_a_paused_session_may_be_asked_to_stop(table):
    table.suspend()
    assert table.store.request_stop(table.id).stop_requested
    assert table.resume().stop_requested
