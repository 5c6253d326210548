"""Agents that call a session as a tool."""

from __future__ import annotations

from sessions.panels import CALLERS
from stub_agents import session_callers
from symposia.models.sessions.stop_conditions import MaxRounds, TokenBudget


def test_agent_gets_the_answers_of_its_calls(make_installation):
    installation = make_installation(CALLERS)
    job = installation.submit("round_robin", {"editor": "editor"}, stop=MaxRounds(1))
    installation.work()
    assert [it.content for it in job.messages()] == ["heard too long; heard too long"]
    first, second = job.children()
    assert [next(iter(it.messages())).content for it in (first, second)] == ["draft 1", "draft 2"]
    assert [it.parent.call for it in (first, second)] == [0, 1]


def test_data_of_the_last_message_is_passed_on(make_installation):
    installation = make_installation(CALLERS)
    agents = {"team": "counting", "asker": "asker"}
    job = installation.submit("round_robin", agents, stop=MaxRounds(1))
    installation.work()
    assert [(it.content, it.output) for it in job.messages()] == [
        ("three", {"count": 3}),
        ("three: {'count': 3}", None),
    ]


def test_usage_of_calls_is_that_of_the_turn(make_installation):
    installation = make_installation(CALLERS)
    job = installation.submit("round_robin", {"editor": "editor"}, stop=MaxRounds(1) | TokenBudget(10_000))
    installation.work()
    assert job.usage()["editor"].tokens == 2 * 350 + 3
    assert job.state().usage.tokens == 2 * 350 + 3


def test_calls_of_a_turn_are_limited(make_installation):
    installation = make_installation(CALLERS)
    job = installation.submit(
        "round_robin", {"endless": "endless"}, stop=MaxRounds(1), policy={"attempts": 1}
    )
    installation.work()
    assert not job.result().ok
    assert "limit of 20 questions" in job.result().detail


def test_number_of_sub_sessions_is_limited(make_installation):
    installation = make_installation(CALLERS, max_subsessions=1)
    job = installation.submit("round_robin", {"editor": "editor"}, stop=MaxRounds(1))
    installation.work()
    assert "at most 1 sub-sessions" in next(iter(job.messages())).content


def test_unknown_session_fails_the_turn(make_installation):
    installation = make_installation(CALLERS.replace("agents.panel", "agents.jury"))
    job = installation.submit("round_robin", {"editor": "editor"}, stop=MaxRounds(1), policy={"attempts": 1})
    installation.work()
    assert "question.session" in job.result().detail


def test_waiting_for_a_session_in_a_turn_is_refused(make_installation, monkeypatch):
    installation = make_installation(CALLERS)
    monkeypatch.setattr(session_callers, "client", installation.client)
    for agent in ("waiter", "async_waiter"):
        job = installation.submit("round_robin", {"w": agent}, stop=MaxRounds(1), policy={"attempts": 1})
        installation.work()
        assert "call a sub-session" in job.result().detail
