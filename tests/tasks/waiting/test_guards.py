"""Guards check turns before and after their agent; each hit has its effect and one event."""

from __future__ import annotations

import dataclasses

import pytest

from live import result_of
from symposia.tasks.runtime.runtime import Boundary

GUARDS = """
[guards.short]
kind = "length"
max_chars = 10
then = "ask_again"

[guards.patient]
kind = "length"
max_chars = 10
then = "ask_again"
retries = 3

[guards.no_keys]
kind = "pattern"
forbid = "sk-[a-z0-9]{5}"
then = "abort"

[guards.words]
kind = "deny"
words = ["secret"]
when = "before"
then = "skip"

[guards.tidy]
kind = "deny"
words = ["mess"]
then = "skip"

[guards.form]
kind = "schema"
schema = { type = "object", required = ["door"] }
then = "park"
to = "ann"

[guards.gate]
kind = "deny"
words = ["delete"]
when = "before"
then = "park"
to = "ann"

[guards.polite]
kind = "callable"
callable = "stub_agents.guards:polite"
then = "ask_again"

[guards.polite_later]
kind = "callable"
callable = "stub_agents.guards:polite_later"
then = "ask_again"

[guards.broken]
kind = "callable"
callable = "stub_agents.guards:broken"
then = "ask_again"

[guards.yes]
kind = "callable"
callable = "stub_agents.guards:yes"
then = "ask_again"

[guards.to_nobody]
kind = "length"
min_chars = 100
then = "park"
to = "cyd"
"""


def agent(name, guards, replies, *, usage=0):
    spent = f", usage = {{ input_tokens = {usage}, requests = 1 }}" if usage else ""
    said = ", ".join(f'{{ say = "{reply}"{spent} }}' for reply in replies)
    return f'\n[agents.{name}]\nkind = "scripted"\nguards = {guards}\nreplies = [{said}]\n'.replace("'", '"')


def python_agent(name, guards, function):
    return f'\n[agents.{name}]\nkind = "python"\nguards = {guards}\ncallable = "{function}"\n'.replace(
        "'", '"'
    )


def hits(job):
    return [event.data for event in job.collab().events if event.event_type == "guard.hit"]


def effects(job):
    return [(it["guard"], it["when"], it["action"]) for it in hits(job)]


def said(job):
    return [(message.speaker, message.content) for message in job.messages()]


def run(installation, *, turns=1, bob="bob", ann="human", **how):
    agents = {"bob": bob, "ann": ann}
    how.setdefault("policy", {"attempts": 1, "then": "skip"})
    job = installation.submit("round_robin", agents, people=["ann"], stop={"max_turns": turns}, **how)
    installation.work()
    return job


def test_fine_answer_is_written_without_an_event(make_installation):
    installation = make_installation(GUARDS + agent("bob", ["short", "no_keys", "words", "tidy"], ["a door"]))
    job = run(installation)
    assert (said(job), hits(job)) == ([("bob", "a door")], [])


@pytest.mark.parametrize("guard", ["polite", "polite_later"])
def test_agent_is_asked_again_with_the_reason(make_installation, guard):
    installation = make_installation(GUARDS + python_agent("bob", [guard], "stub_agents.guards:corrects"))
    job = run(installation)
    assert said(job) == [("bob", "the door, please")]
    (hit,) = hits(job)
    assert (hit["guard"], hit["when"], hit["action"]) == (guard, "after", "ask_again")
    assert (hit["reason"], hit["turn_number"], hit["attempt"]) == ("must say please", 1, 1)
    assert hit["participant_id"] == "bob"


def test_failure_policy_decides_after_the_retries(make_installation):
    installation = make_installation(GUARDS + agent("bob", ["patient"], ["much too long a text"], usage=10))
    job = run(installation)
    assert said(job) == []
    assert [it["action"] for it in hits(job)] == ["ask_again"] * 3 + ["fail"]
    result = result_of(job)
    assert (result.usage.input_tokens, result.usage.requests) == (40, 4)


def test_substitute_has_tries_of_its_own(make_installation):
    text = agent("bob", ["short"], ["much too long a text"], usage=10) + agent(
        "cyd", ["short"], ["fine"], usage=10
    )
    job = run(
        make_installation(GUARDS + text), policy={"attempts": 1, "then": "substitute", "substitute": "cyd"}
    )
    assert said(job) == [("bob", "fine")]
    assert [it["action"] for it in hits(job)] == ["ask_again", "fail"]
    assert result_of(job).usage.input_tokens == 30


def test_skip_writes_no_text(make_installation):
    installation = make_installation(GUARDS + agent("bob", ["tidy"], ["what a MESS, this"], usage=7))
    job = run(installation)
    assert (said(job), effects(job)) == ([], [("tidy", "after", "skip")])
    assert result_of(job).usage.input_tokens == 7


def test_abort_cancels_the_session_with_the_reason(make_installation):
    installation = make_installation(GUARDS + agent("bob", ["no_keys"], ["it is sk-abcde1"]))
    job = run(installation, turns=4)
    assert (job.status(), said(job), effects(job)) == ("cancelled", [], [("no_keys", "after", "abort")])
    assert "guard 'no_keys': must not match" in job.state().detail
    assert "sk-abcde1" not in str(job.collab().to_wire())


def test_before_guard_skips_without_asking_the_agent(make_installation):
    installation = make_installation(GUARDS + agent("bob", ["words"], ["hello"], usage=9))
    job = run(installation, messages=["the Secret is out"])
    assert effects(job) == [("words", "before", "skip")]
    assert result_of(job).usage.requests == 0


def parked(make_installation, **how):
    installation = make_installation(GUARDS + agent("bob", ["form"], ["no form, sorry"], usage=5))
    return installation, run(installation, **how)


def test_person_is_asked_with_reason_and_answer(make_installation):
    _, job = parked(make_installation)
    (question,) = job.pending()
    assert (question.participant, question.asked, question.is_own) == ("bob", ("ann",), False)
    assert question.question.choices == ("approve", "refuse")
    assert "must be JSON" in question.question.text
    assert question.question.text.endswith("no form, sorry")
    assert effects(job) == [("form", "after", "park")]
    (event,) = [it.data for it in job.collab().events if it.event_type == "turn.parked"]
    assert "sorry" not in event["question"]
    job.cancel()


def test_approved_answer_is_written_without_another_request(make_installation):
    installation, job = parked(make_installation)
    job.reply("ann", "approve")
    installation.work()
    assert (said(job), len(hits(job))) == ([("bob", "no form, sorry")], 1)
    usage = result_of(job).usage
    assert (usage.input_tokens, usage.requests) == (5, 1)


def test_refused_answer_is_not_written(make_installation):
    installation, job = parked(make_installation)
    job.reply("ann", "refuse")
    installation.work()
    assert (said(job), len(hits(job))) == ([], 1)
    assert result_of(job).usage.input_tokens == 5


def test_missing_decision_refuses(make_installation):
    text = '\n[agents.ann]\nkind = "human"\ndeadline_s = 0.05\n'
    installation = make_installation(GUARDS + agent("bob", ["form"], ["no form, sorry"]) + text)
    job = run(installation, ann="ann")
    installation.sweep_until(job, lambda: job.state().is_final)
    assert said(job) == []


@pytest.mark.parametrize(("answer", "requests"), [("approve", 1), ("refuse", 0)])
def test_person_decides_whether_the_agent_runs(make_installation, answer, requests):
    installation = make_installation(GUARDS + agent("bob", ["gate"], ["done"], usage=3))
    job = run(installation, messages=["delete it"])
    assert effects(job) == [("gate", "before", "park")]
    job.reply("ann", answer)
    installation.work()
    assert (("bob", "done") in said(job)) == (answer == "approve")
    assert result_of(job).usage.requests == requests


def test_later_guards_check_an_approved_answer(make_installation):
    installation = make_installation(GUARDS + agent("bob", ["form", "tidy"], ["a mess"]))
    job = run(installation)
    job.reply("ann", "approve")
    installation.work()
    assert (said(job), [it["guard"] for it in hits(job)]) == ([], ["form", "tidy"])


@pytest.mark.parametrize(("guard", "reason"), [("broken", "the list is missing"), ("yes", "must be text")])
def test_failing_callable_never_approves(make_installation, guard, reason):
    installation = make_installation(GUARDS + agent("bob", [guard], ["hello"], usage=4))
    job = run(installation, policy={"attempts": 2, "backoff_s": 0, "then": "skip"})
    installation.sweep_until(job, lambda: job.status() != "active")
    assert said(job) == []
    errors = [
        it.payload["result"].get("error", "") for it in job.events() if it.event_type == "MAPTurnCompleted"
    ]
    assert reason in errors[-1]
    assert result_of(job).usage.input_tokens == 4 * len(errors)


def test_turn_fails_if_nobody_can_be_asked(make_installation):
    installation = make_installation(GUARDS + agent("bob", ["to_nobody"], ["hello"]))
    job = run(installation)
    assert (said(job), effects(job)) == ([], [("to_nobody", "after", "fail")])


class Killed(BaseException):
    """The worker dies."""


def kill_at(installation, boundary, *, call=1):
    """Let the worker die at its nth arrival at a boundary; the next one goes on."""
    calls = []

    def hook(at, _session, _number):
        if at is boundary:
            calls.append(at)
            if len(calls) == call:
                raise Killed

    installation.runtime = dataclasses.replace(installation.runtime, fault_hook=hook)


def work_after_death(installation, job):
    with pytest.raises(Killed):
        installation.work()
    for key in installation.runtime.store.client.scan_iter(f"symposia:{{{job.id}}}:lock:*"):
        installation.runtime.store.client.delete(key)  # the lease of the dead worker expires
    installation.runtime.index.set_due_by(job.id, 0)
    installation.sweep_until(job, lambda: job.status() != "active" or job.pending())


@pytest.mark.parametrize(
    ("boundary", "call"),
    [
        (Boundary.BEFORE_BEGIN, 1),
        (Boundary.AFTER_BEGIN, 1),
        (Boundary.SPEAKING, 1),
        (Boundary.SPEAKING, 2),
        (Boundary.BEFORE_COMMIT, 1),
        (Boundary.AFTER_COMMIT, 1),
        (Boundary.BEFORE_ACK, 1),
    ],
)
def test_refusal_is_recorded_once_whenever_the_worker_dies(make_installation, boundary, call):
    installation = make_installation(GUARDS + agent("bob", ["short"], ["much too long a text"], usage=10))
    job = installation.submit(
        "round_robin", {"bob": "bob"}, stop={"max_turns": 1}, policy={"attempts": 1, "then": "skip"}
    )
    kill_at(installation, boundary, call=call)
    work_after_death(installation, job)
    assert (said(job), [it["action"] for it in hits(job)]) == ([], ["ask_again", "fail"])
