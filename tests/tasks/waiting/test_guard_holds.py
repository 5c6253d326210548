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


def submit(office, *, ann="human", **how):
    how.setdefault("policy", {"attempts": 1, "then": "skip"})
    job = office.submit(
        "round_robin", {"bob": "bob", "ann": ann}, people=["ann"], stop={"max_turns": 1}, **how
    )
    office.work()
    return job


def reply(office, job, text):
    job.reply("ann", text)
    office.work()


def said(job):
    return [message.content for message in job.messages()]


def actions(job):
    events = [it.data for it in job.collab().events if it.event_type == "guard.hit"]
    return [(it["guard"], it["action"]) for it in events]


def test_question_in_an_approved_answer_is_asked_once(make_office):
    office = make_office(GUARDS + agent(["tidy"], "asks_ann"))
    job = submit(office)
    reply(office, job, "approve")
    assert job.pending()[0].question.text == "which door?"
    reply(office, job, "red")
    assert job.pending() == ()
    assert said(job) == ["what a mess", "which door?", "red", "the red door"]
    assert actions(job) == [("tidy", "park")]


def test_turn_is_let_in_once(make_office):
    office = make_office(GUARDS + agent(["gate", "tidy"], "asks_ann"))
    job = submit(office, messages=["delete it"])
    for answer in ("approve", "approve", "red"):
        reply(office, job, answer)
    assert said(job)[-1] == "the red door"
    assert actions(job) == [("gate", "park"), ("tidy", "park")]


def test_default_answer_of_a_person_does_not_approve(make_office):
    person = '\n[agents.ann]\nkind = "human"\ndeadline_s = 0.05\nthen = "default"\ndefault = "approve"\n'
    office = make_office(GUARDS + agent(["tidy"], "says_more") + person)
    job = submit(office, ann="ann")
    office.sweep_until(job, lambda: job.state().is_final)
    assert said(job) == []


@pytest.mark.parametrize(("answer", "messages"), [("approve", ["what a mess"]), ("refuse", [])])
def test_decision_counts_without_the_guard(make_office, answer, messages):
    office = make_office(GUARDS + agent(["tidy"], "says_more"))
    job = submit(office)
    path = office.settings.agents_file
    path.write_text(agent([], "corrects"))
    office.runtime = dataclasses.replace(
        office.runtime, agents=dataclasses.replace(office.runtime.agents, registry=Registry.load(path))
    )
    reply(office, job, answer)
    assert said(job) == messages


def test_approved_answer_is_refused_once_if_the_worker_dies(make_office):
    office = make_office(GUARDS + agent(["tidy", "short"], "says_more"))
    job = submit(office)
    kill_while_speaking(office)
    job.reply("ann", "approve")
    with pytest.raises(Killed):
        office.work()
    for key in office.runtime.store.client.scan_iter(f"symposia:{{{job.id}}}:lock:*"):
        office.runtime.store.client.delete(key)  # the lease of the dead worker expires
    office.sweep_until(job, job.pending)
    assert job.pending()[0].question.text.endswith("still too long a mess")
    assert actions(job) == [("tidy", "park"), ("short", "ask_again"), ("tidy", "park")]
    job.cancel()


def test_decision_in_a_suspended_session_counts_later(make_office):
    office = make_office(GUARDS + agent(["tidy"], "says_more"))
    job = submit(office)
    job.suspend()
    reply(office, job, "approve")
    assert said(job) == []
    job.resume()
    office.work()
    assert (job.status(), said(job)) == ("completed", ["what a mess"])
    assert actions(job) == [("tidy", "park")]


def test_held_answer_of_a_cancelled_session_is_deleted(make_office):
    office = make_office(GUARDS + agent(["tidy"], "says_more"))
    job = submit(office)
    job.cancel()
    with pytest.raises(ReplyRefused, match="the session has ended"):
        job.reply("ann", "approve")
    office.work()
    assert said(job) == []
    assert "what a mess" not in str(office.runtime.store.client.hgetall(session_key(job.id, "turns")))


class Killed(BaseException):
    """The worker dies."""


def kill_while_speaking(office):
    """Let the worker die when it asks an agent; the next one continues."""
    killed = []

    def hook(at, _session, _number):
        if at is Boundary.SPEAKING and not killed:
            killed.append(at)
            raise Killed

    office.runtime = dataclasses.replace(office.runtime, fault_hook=hook)
