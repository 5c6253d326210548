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
def installation(make_installation):
    return make_installation(ASKERS)


def ask(installation, *, agent="careful", ben="human", **how):
    job = installation.submit(
        "round_robin", {"ann": agent, "ben": ben}, people=["ben"], stop={"max_turns": 1}, **how
    )
    installation.work()
    return job


def said(job):
    return [(message.speaker, message.role, message.content) for message in job.messages()]


def outcomes(job):
    events = [event for event in job.events() if event.event_type == "MAPTurnCompleted"]
    return [event.payload["result"]["outcome"] for event in events]


def test_turn_waits_for_the_person_it_asks(installation):
    job = ask(installation)
    (question,) = job.pending()
    assert (question.participant, question.asked, question.is_own) == ("ann", ("ben",), False)
    assert (question.question.text, question.question.choices) == ("May I delete it?", ("yes", "no"))
    assert [it.asked for it in installation.client.inbox("ben")] == [("ben",)]
    assert said(job) == []
    job.cancel()


def test_agent_continues_with_the_answer(installation):
    job = ask(installation)
    job.reply("ben", "yes")
    installation.work()
    assert said(job) == [
        ("ann", "agent", "I looked around."),
        ("ann", "agent", "May I delete it?"),
        ("ben", "user", "yes"),
        ("ann", "agent", "ben said yes"),
    ]
    assert {message.turn_number for message in job.messages()} == {1}
    assert outcomes(job) == ["asked", "message"]
    assert result_of(job).turns == 1


def test_usage_before_the_question_is_counted(installation):
    job = ask(installation)
    job.reply("ben", "no")
    installation.work()
    assert result_of(job).usage.requests == 2


def test_only_the_given_choices_are_accepted(installation):
    job = ask(installation)
    with pytest.raises(InvalidInput, match="text: must be one of yes, no"):
        job.reply("ben", "perhaps")
    assert len(job.pending()) == 1
    job.cancel()


def test_failure_after_the_answer_repeats_no_question(installation):
    job = ask(installation, agent="moody", policy={"attempts": 2, "backoff_s": 0})
    job.reply("ben", "yes")
    installation.work()
    installation.sweep_until(job, lambda: job.state().is_final)
    assert said(job)[-1] == ("ann", "agent", "ben said yes")
    assert outcomes(job) == ["asked", "failed", "message"]


def test_an_answer_during_a_pause_is_heard_after_it(installation):
    job = ask(installation)
    job.suspend()
    job.reply("ben", "yes")
    installation.work()
    assert said(job) == []
    job.resume()
    installation.work()
    assert said(job)[-1] == ("ann", "agent", "ben said yes")


def test_agent_continues_without_a_late_answer(installation):
    job = ask(installation, ben="shy")
    installation.sweep_until(job, lambda: job.state().is_final)
    assert said(job)[-1] == ("ann", "agent", "nobody said None")
    assert ("ann", "agent", "May I delete it?") in said(job)


def test_default_of_the_person_is_the_answer(installation):
    job = ask(installation, ben="ben")
    installation.sweep_until(job, lambda: job.state().is_final)
    assert said(job)[-1] == ("ann", "agent", "nobody said yes")


@pytest.mark.long
def test_question_may_be_reassigned(installation):
    job = ask(installation, ben={"agent": "busy", "wait": {"deadline_s": 3, "then": "reassign", "to": "shy"}})
    (before,) = job.pending()
    installation.sweep_until(job, lambda: job.pending() and job.pending()[0].asked == ("shy",))
    assert job.pending()[0].reply_token != before.reply_token
    job.reply("shy", "no")
    installation.work()
    assert said(job)[-1] == ("ann", "agent", "shy said no")


def test_unknown_person_in_a_question_fails_the_turn(installation):
    job = ask(installation, agent="lost", policy={"attempts": 1})
    result = result_of(job)
    assert result.reason == "failed"
    assert "must be a participant of kind human: ben (got 'zed')" in result.detail


def test_a_stop_does_not_wait_for_the_answer(installation):
    job = ask(installation)
    job.stop()
    installation.work()
    assert result_of(job).reason == "stop_requested"
    assert outcomes(job) == ["cancelled"]


def test_question_may_be_plain_text(make_installation):
    """From an agent that has no more than words."""
    say = "I have looked.\nASK ben: Shall I go on?"
    installation = make_installation(
        f'[agents.script]\nkind = "scripted"\nreplies = [{say!r}]\n'.replace("'", '"')
    )
    job = installation.submit("round_robin", {"ann": "script"}, people=["ben"], stop={"max_turns": 1})
    installation.work()
    (question,) = job.pending()
    assert (question.asked, question.question.text) == (("ben",), "Shall I go on?")
    job.cancel()


def test_question_of_a_script_is_asked_once(make_installation):
    installation = make_installation(
        '[agents.script]\nkind = "scripted"\nreplies = ["I have looked.\\nASK ben: Go on?"]\n'
    )
    job = installation.submit("round_robin", {"ann": "script"}, people=["ben"], stop={"max_turns": 1})
    installation.work()
    job.reply("ben", "Yes.")
    installation.work()
    assert result_of(job).reason == "max_turns"
    assert [text for _, _, text in said(job)] == ["I have looked.", "Go on?", "Yes."]
    assert outcomes(job) == ["asked", "passed"]


def test_endless_questions_fail_the_turn(make_installation):
    installation = make_installation(
        '[agents.endless]\nkind = "python"\ncallable = "stub_agents.asking:endless"\n'
        '[agents.ben]\nkind = "human"\ndeadline_s = 3600\n'
    )
    job = installation.submit(
        "round_robin", {"ann": "endless", "ben": "ben"}, people=["ben"], policy={"attempts": 1}
    )
    installation.work()
    for _ in range(20):
        job.reply("ben", "go on")
        installation.work()
    assert "exceeds the limit of 20 questions in a turn" in result_of(job).detail
