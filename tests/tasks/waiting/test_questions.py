"""An agent asks a person: the turn waits and then returns to the agent."""

from __future__ import annotations

import pytest

from live import result_of
from symposia.models.errors import InvalidInput

ASKERS = """
[agents.careful]
kind = "python"
callable = "stub_agents.asking:careful"

[agents.lost]
kind = "python"
callable = "stub_agents.asking:lost"

[agents.moody]
kind = "python"
callable = "stub_agents.asking:moody"

[agents.ben]
kind = "human"
deadline_s = 0.05
then = "default"
default = "yes"

[agents.shy]
kind = "human"
deadline_s = 0.05

[agents.busy]
kind = "human"
deadline_s = 0.05
then = "reassign"
to = "ben"
"""


@pytest.fixture
def office(make_office):
    return make_office(ASKERS)


def ask(office, *, agent="careful", ben="human", **how):
    job = office.submit(
        "round_robin", {"ann": agent, "ben": ben}, people=["ben"], stop={"max_turns": 1}, **how
    )
    office.work()
    return job


def said(job):
    return [(message.speaker, message.role, message.content) for message in job.messages()]


def outcomes(job):
    events = [event for event in job.events() if event.event_type == "MAPTurnCompleted"]
    return [event.payload["result"]["outcome"] for event in events]


def test_turn_waits_for_the_person_it_asks(office):
    job = ask(office)
    (question,) = job.pending()
    assert (question.participant, question.asked, question.is_own) == ("ann", ("ben",), False)
    assert (question.question.text, question.question.choices) == ("May I delete it?", ("yes", "no"))
    assert [it.asked for it in office.client.inbox("ben")] == [("ben",)]
    assert said(job) == []
    job.cancel()


def test_agent_continues_with_the_answer(office):
    job = ask(office)
    job.reply("ben", "yes")
    office.work()
    assert said(job) == [
        ("ann", "agent", "I looked around."),
        ("ann", "agent", "May I delete it?"),
        ("ben", "user", "yes"),
        ("ann", "agent", "ben said yes"),
    ]
    assert {message.turn_number for message in job.messages()} == {1}
    assert outcomes(job) == ["asked", "message"]
    assert result_of(job).turns == 1


def test_usage_before_the_question_is_counted(office):
    job = ask(office)
    job.reply("ben", "no")
    office.work()
    assert result_of(job).usage.requests == 2


def test_only_the_given_choices_are_accepted(office):
    job = ask(office)
    with pytest.raises(InvalidInput, match="text: must be one of yes, no"):
        job.reply("ben", "perhaps")
    assert len(job.pending()) == 1
    job.cancel()


def test_failure_after_the_answer_repeats_no_question(office):
    job = ask(office, agent="moody", policy={"attempts": 2, "backoff_s": 0})
    job.reply("ben", "yes")
    office.work()
    office.sweep_until(job, lambda: job.state().is_final)
    assert said(job)[-1] == ("ann", "agent", "ben said yes")
    assert outcomes(job) == ["asked", "failed", "message"]


def test_an_answer_during_a_pause_is_heard_after_it(office):
    job = ask(office)
    job.suspend()
    job.reply("ben", "yes")
    office.work()
    assert said(job) == []
    job.resume()
    office.work()
    assert said(job)[-1] == ("ann", "agent", "ben said yes")


def test_agent_continues_without_a_late_answer(office):
    job = ask(office, ben="shy")
    office.sweep_until(job, lambda: job.state().is_final)
    assert said(job)[-1] == ("ann", "agent", "nobody said None")
    assert ("ann", "agent", "May I delete it?") in said(job)


def test_default_of_the_person_is_the_answer(office):
    job = ask(office, ben="ben")
    office.sweep_until(job, lambda: job.state().is_final)
    assert said(job)[-1] == ("ann", "agent", "nobody said yes")


@pytest.mark.long
def test_question_may_be_reassigned(office):
    job = ask(office, ben={"agent": "busy", "wait": {"deadline_s": 3, "then": "reassign", "to": "shy"}})
    (before,) = job.pending()
    office.sweep_until(job, lambda: job.pending() and job.pending()[0].asked == ("shy",))
    assert job.pending()[0].reply_token != before.reply_token
    job.reply("shy", "no")
    office.work()
    assert said(job)[-1] == ("ann", "agent", "shy said no")


def test_unknown_person_in_a_question_fails_the_turn(office):
    job = ask(office, agent="lost", policy={"attempts": 1})
    result = result_of(job)
    assert result.reason == "failed"
    assert "must be a participant of kind human: ben (got 'zed')" in result.detail


def test_a_stop_does_not_wait_for_the_answer(office):
    job = ask(office)
    job.stop()
    office.work()
    assert result_of(job).reason == "stop_requested"
    assert outcomes(job) == ["cancelled"]


def test_question_may_be_plain_text(make_office):
    """From an agent that has no more than words."""
    say = "I have looked.\nASK ben: Shall I go on?"
    office = make_office(f'[agents.script]\nkind = "scripted"\nreplies = [{say!r}]\n'.replace("'", '"'))
    job = office.submit("round_robin", {"ann": "script"}, people=["ben"], stop={"max_turns": 1})
    office.work()
    (question,) = job.pending()
    assert (question.asked, question.question.text) == (("ben",), "Shall I go on?")
    job.cancel()


def test_question_of_a_script_is_asked_once(make_office):
    office = make_office(
        '[agents.script]\nkind = "scripted"\nreplies = ["I have looked.\\nASK ben: Go on?"]\n'
    )
    job = office.submit("round_robin", {"ann": "script"}, people=["ben"], stop={"max_turns": 1})
    office.work()
    job.reply("ben", "Yes.")
    office.work()
    assert result_of(job).reason == "max_turns"
    assert [text for _, _, text in said(job)] == ["I have looked.", "Go on?", "Yes."]
    assert outcomes(job) == ["asked", "passed"]


def test_endless_questions_fail_the_turn(make_office):
    office = make_office(
        '[agents.endless]\nkind = "python"\ncallable = "stub_agents.asking:endless"\n'
        '[agents.ben]\nkind = "human"\ndeadline_s = 3600\n'
    )
    job = office.submit(
        "round_robin", {"ann": "endless", "ben": "ben"}, people=["ben"], policy={"attempts": 1}
    )
    office.work()
    for _ in range(20):
        job.reply("ben", "go on")
        office.work()
    assert "exceeds the limit of 20 questions in a turn" in result_of(job).detail
