"""What a person approves, and what the decision means for the rest of the turn."""

from __future__ import annotations

import dataclasses

import pytest

from symposia.agents.registry.registry import Registry
from symposia.models.errors import ReplyRefused
from symposia.state.redis.keys import session_key
from symposia.tasks.runtime.runtime import Boundary

GUARDS = """
[guards.tidy]
kind = "deny"
words = ["mess"]
then = "park"
to = "ann"

[guards.gate]
kind = "deny"
words = ["delete"]
when = "before"
then = "park"
to = "ann"

[guards.short]
kind = "length"
max_chars = 5
then = "ask_again"

[guards.names]
kind = "deny"
words = ["mess"]
then = "skip"
"""


def agent(guards, function):
    names = ", ".join(f'"{name}"' for name in guards)
    return (
        f'\n[agents.bob]\nkind = "python"\nguards = [{names}]\ncallable = "stub_agents.guards:{function}"\n'
    )


def submit(installation, *, ann="human", **how):
    how.setdefault("policy", {"attempts": 1, "then": "skip"})
    job = installation.submit(
        "round_robin", {"bob": "bob", "ann": ann}, people=["ann"], stop={"max_turns": 1}, **how
    )
    installation.work()
    return job


def reply(installation, job, text):
    job.reply("ann", text)
    installation.work()


def said(job):
    return [message.content for message in job.messages()]


def actions(job):
    events = [it.data for it in job.collab().events if it.event_type == "guard.hit"]
    return [(it["guard"], it["action"]) for it in events]


def test_question_in_an_approved_answer_is_asked_once(make_installation):
    installation = make_installation(GUARDS + agent(["tidy"], "asks_ann"))
    job = submit(installation)
    reply(installation, job, "approve")
    assert job.pending()[0].question.text == "which door?"
    reply(installation, job, "red")
    assert job.pending() == ()
    assert said(job) == ["what a mess", "which door?", "red", "the red door"]
    assert actions(job) == [("tidy", "park")]


def test_turn_is_let_in_once(make_installation):
    installation = make_installation(GUARDS + agent(["gate", "tidy"], "asks_ann"))
    job = submit(installation, messages=["delete it"])
    for answer in ("approve", "approve", "red"):
        reply(installation, job, answer)
    assert said(job)[-1] == "the red door"
    assert actions(job) == [("gate", "park"), ("tidy", "park")]


def test_default_answer_of_a_person_does_not_approve(make_installation):
    person = '\n[agents.ann]\nkind = "human"\ndeadline_s = 0.05\nthen = "default"\ndefault = "approve"\n'
    installation = make_installation(GUARDS + agent(["tidy"], "says_more") + person)
    job = submit(installation, ann="ann")
    installation.sweep_until(job, lambda: job.state().is_final)
    assert said(job) == []


@pytest.mark.parametrize(("answer", "messages"), [("approve", ["what a mess"]), ("refuse", [])])
def test_decision_counts_without_the_guard(make_installation, answer, messages):
    installation = make_installation(GUARDS + agent(["tidy"], "says_more"))
    job = submit(installation)
    path = installation.settings.agents_file
    path.write_text(agent([], "corrects"))
    installation.runtime = dataclasses.replace(
        installation.runtime,
        agents=dataclasses.replace(installation.runtime.agents, registry=Registry.load(path)),
    )
    reply(installation, job, answer)
    assert said(job) == messages


def test_approved_answer_is_refused_once_if_the_worker_dies(make_installation):
    installation = make_installation(GUARDS + agent(["tidy", "short"], "says_more"))
    job = submit(installation)
    kill_while_speaking(installation)
    job.reply("ann", "approve")
    with pytest.raises(Killed):
        installation.work()
    for key in installation.runtime.store.client.scan_iter(f"symposia:{{{job.id}}}:lock:*"):
        installation.runtime.store.client.delete(key)  # the lease of the dead worker expires
    installation.sweep_until(job, job.pending)
    assert job.pending()[0].question.text.endswith("still too long a mess")
    assert actions(job) == [("tidy", "park"), ("short", "ask_again"), ("tidy", "park")]
    job.cancel()


def test_decision_in_a_suspended_session_counts_later(make_installation):
    installation = make_installation(GUARDS + agent(["tidy"], "says_more"))
    job = submit(installation)
    job.suspend()
    reply(installation, job, "approve")
    assert said(job) == []
    job.resume()
    installation.work()
    assert (job.status(), said(job)) == ("completed", ["what a mess"])
    assert actions(job) == [("tidy", "park")]


def test_held_answer_of_a_cancelled_session_is_deleted(make_installation):
    installation = make_installation(GUARDS + agent(["tidy"], "says_more"))
    job = submit(installation)
    job.cancel()
    with pytest.raises(ReplyRefused, match="the session has ended"):
        job.reply("ann", "approve")
    installation.work()
    assert said(job) == []
    assert "what a mess" not in str(installation.runtime.store.client.hgetall(session_key(job.id, "turns")))


class Killed(BaseException):
    """The worker dies."""


def kill_while_speaking(installation):
    """Let the worker die when it asks an agent; the next one continues."""
    killed = []

    def hook(at, _session, _number):
        if at is Boundary.SPEAKING and not killed:
            killed.append(at)
            raise Killed

    installation.runtime = dataclasses.replace(installation.runtime, fault_hook=hook)
