"""What happens when a person does not answer in time, and what is recorded until then."""

from __future__ import annotations

import pytest

from live import result_of, until
from symposia.models.errors import InvalidInput, ReplyRefused
from symposia.models.protocol.collab import CollabStatus
from symposia.state.turns.parked import ParkedTurnStore, ReplyRule
from symposia.tasks.waiting.parked_turn import read_all_questions

#: Seconds no test waits for.
LONG = 3_600

PEOPLE = """
[agents.ben]
kind = "human"

[agents.chief]
kind = "human"
deadline_s = 3600

[agents.hasty]
kind = "human"
deadline_s = 0.05
then = "reassign"
to = "hasty"
"""


@pytest.fixture
def installation(make_installation):
    return make_installation(PEOPLE)


@pytest.fixture
def asked(installation):
    """Start a session that waits for Ben, with its own deadline."""

    def ask(stop=None, **wait):
        ben = {"agent": "ben", "wait": {"deadline_s": 0.05, **wait}}
        job = installation.submit("round_robin", {"ann": "noop", "ben": ben}, stop=stop or {"max_turns": 4})
        installation.work()
        assert job.pending()
        return job

    return ask


def notes(job, kind):
    return [event.data for event in job.collab().events if event.event_type == kind]


def outcomes(job):
    events = [event for event in job.events() if event.event_type == "MAPTurnCompleted"]
    return [event.payload["result"]["outcome"] for event in events]


def test_skip_lets_the_other_participants_continue(installation, asked):
    job = asked(then="skip")
    installation.sweep_until(job, lambda: job.state().closed >= 3)
    assert outcomes(job)[:3] == ["message", "skipped", "message"]
    assert [m.speaker for m in job.messages()] == ["ann", "ann"]


def test_default_answer_is_written_for_the_person(installation, asked):
    job = asked(then="default", default="No objection.")
    installation.sweep_until(job, lambda: job.state().closed >= 3)
    assert [(m.speaker, m.content) for m in job.messages()][1] == ("ben", "No objection.")


def test_cancel_ends_the_session(installation, asked):
    job = asked(then="cancel")
    installation.sweep_until(job, lambda: job.state().is_final)
    result = result_of(job)
    assert (result.collab.status, result.reason) == (CollabStatus.CANCELLED, "no_answer")
    assert result.detail == "ben did not answer in time"
    end = next(it for it in installation.ends if it.word == "cancelled")
    assert (end.failed, end.text) == (True, "failed: no answer in time; the session fails")
    assert installation.client.inbox() == []


def test_reassign_gives_the_turn_to_another_agent(installation, asked):
    job = asked(then="reassign", to="echo")
    installation.sweep_until(job, lambda: job.state().closed >= 3)
    assert [(m.speaker, m.content) for m in job.messages()][1] == ("ben", "ok")
    assert outcomes(job)[:3] == ["message", "reassigned", "message"]


def test_reassign_gives_the_turn_a_new_deadline(installation, asked):
    job = asked(then="reassign", to="chief")
    (first,) = job.pending()
    installation.sweep_until(job, lambda: job.pending() and job.pending()[0].asked == ("chief",))
    (question,) = job.pending()
    assert (question.until - question.asked_at).total_seconds() == LONG
    assert question.reply_token != first.reply_token
    assert [it.asked for it in installation.client.inbox()] == [("chief",)]
    with pytest.raises(ReplyRefused):
        job.reply("ben", "I am back", token=first.reply_token)
    job.reply("chief", "I say yes")
    assert [(m.speaker, m.content) for m in job.messages()][1] == ("ben", "I say yes")


def test_endless_reassignment_fails(installation):
    job = installation.submit("round_robin", {"ann": "noop", "ben": "hasty"})
    installation.work()
    installation.sweep_until(job, lambda: job.state().is_final)
    result = result_of(job)
    assert result.reason == "failed"
    assert "reassigned 8 times" in result.detail


def test_escalate_lets_another_person_answer_too(installation, asked):
    job = asked(deadline_s=0.2, then="escalate", to="chief")
    installation.sweep_until(job, lambda: notes(job, "turn.escalated"))
    (event,) = notes(job, "turn.escalated")
    assert event["asked"] == ["ben", "chief"]
    assert installation.client.inbox("chief") == installation.client.inbox("ben") == list(job.pending())
    installation.sweep_until(job, lambda: job.state().is_final)
    assert "no answer in time" in result_of(job).detail


@pytest.mark.long
def test_first_answer_to_an_escalated_question_counts(make_installation):
    installation = make_installation(PEOPLE)
    ben = {"agent": "ben", "wait": {"deadline_s": 3, "then": "escalate", "to": "chief"}}
    job = installation.submit("round_robin", {"ann": "noop", "ben": ben}, stop={"max_turns": 4})
    installation.work()
    installation.sweep_until(job, lambda: notes(job, "turn.escalated"))
    job.reply("chief", "go ahead")
    with pytest.raises(ReplyRefused):
        job.reply("ben", "wait")
    assert [m.content for m in job.messages()] == ["ok", "go ahead"]
    assert notes(job, "turn.answered")[0]["by"] == "chief"


@pytest.mark.long
def test_each_reminder_is_recorded_once(installation, asked):
    job = asked(deadline_s=LONG, remind_after_s=[0.05, 3])
    installation.sweep_until(job, lambda: len(notes(job, "turn.reminded")) == 2)
    installation.runtime.index.set_due_by(job.id, 0)
    installation.sweep()
    assert [event["reminder"] for event in notes(job, "turn.reminded")] == [1, 2]
    assert len(job.pending()) == 1
    job.cancel()


def test_reply_after_an_unnoticed_deadline_is_late(installation, asked):
    job = asked(then="skip")
    (question,) = read_all_questions(job._facts, job.state())
    until(lambda: job.state().now_ms > question.parking.until_ms)
    with pytest.raises(ReplyRefused) as refused:
        job.reply("ben", "sorry, I was asleep")
    assert refused.value.word == "late"
    installation.sweep_until(job, lambda: job.state().closed >= 3)
    assert "sorry" not in str([m.content for m in job.messages()])


@pytest.mark.long
def test_wait_without_a_deadline_ends_with_the_session(installation):
    ben = {"agent": "human", "wait": {"deadline_s": None}}
    job = installation.submit("round_robin", {"ann": "noop", "ben": ben}, stop={"deadline_s": 4})
    installation.work()
    assert job.pending()[0].until is None
    installation.sweep_until(job, lambda: job.state().is_final)
    assert result_of(job).reason == "deadline"


def test_simultaneous_answer_and_deadline_count_once(installation, asked):
    job = asked(then="default", default="never mind", deadline_s=LONG)
    (question,) = read_all_questions(job._facts, job.state())
    turns = ParkedTurnStore(installation.client._installation.sessions.connections.redis)
    too_early = question.build_answer("never mind", by=None, rule=ReplyRule.DEADLINE)
    assert turns.reply(job.id, too_early).word == "early"
    assert turns.reply(job.id, question.build_answer("here", by="ben")).word == "replied"
    assert turns.reply(job.id, too_early).word == "double"
    job.cancel()


@pytest.mark.parametrize(
    ("wait", "rule"),
    [
        ({"then": "default"}, "must be set together"),
        ({"then": "reassign"}, "must be set together"),
        ({"to": "chief"}, "must be set together"),
        ({"deadline_s": 0}, "greater than 0"),
        ({"remind_after_s": [3, 2]}, "must be in ascending order"),
        ({"colour": "red"}, "is not a known field"),
    ],
)
def test_invalid_wait_is_refused_at_submit(installation, wait, rule):
    with pytest.raises(InvalidInput, match=rule) as refused:
        installation.submit("pair", {"ann": "noop", "ben": {"agent": "ben", "wait": wait}})
    assert refused.value.field.startswith("agents.ben.wait")
