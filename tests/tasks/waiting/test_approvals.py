"""Tools that need an approval: a person decides about each call, and an approved call is made once."""

from __future__ import annotations

import json

import pytest

from servers.model_stub import StubModel, completion
from stub_agents.approvals import payments
from symposia.state.redis.keys import calls_key

pytestmark = pytest.mark.real_models

REGISTRY = """
[models.stub]
model = "stub"
base_url = "{url}"
retries = 0

[tools.pay]
callable = "stub_agents.approvals:pay"
approval = true

[tools.haggle]
callable = "stub_agents.approvals:haggle"
approval = true

[tools.draw]
callable = "stub_agents.approvals:draw"
approval = true

[tools.fail_once]
callable = "stub_agents.approvals:fail_once"
approval = true

[tools.fail_turn_once]
callable = "stub_agents.approvals:fail_once"
approval = true
on_error = "fail"

[tools.pay_by_ben]
callable = "stub_agents.approvals:pay"
approval = "ben"

[guards.no_tea]
kind = "deny"
words = ["tea"]
then = "park"
to = "ann"

[agents.eve]
kind = "llm"
model = "stub"
tools = ["pay"]
guards = ["no_tea"]

[agents.ada]
kind = "llm"
model = "stub"
tools = ["pay", "haggle", "draw", "fail_once", "fail_turn_once", "pay_by_ben"]
"""


@pytest.fixture
def model():
    payments.clear()
    with StubModel() as stub:
        yield stub


@pytest.fixture
def begin(make_installation, model):
    """Submits a session of one turn whose model gives these answers."""

    def begin(*answers, agent="ada", text="", people=(), **how):
        installation = make_installation(REGISTRY.format(url=model.url) + text)
        model.answers(*answers)
        how = {
            "stop": {"max_turns": 1},
            "approvers": ["ann"],
            "policy": {"attempts": 1, "then": "skip"},
        } | how
        job = installation.submit("round_robin", {"ada": agent}, people=people, **how)
        installation.work()
        return installation, job

    return begin


def pay(amount, *, tool="pay", call="c1", **more):
    return completion(tool=(tool, {"amount": amount, **more}), call=call)


def said(job):
    return [(message.speaker, message.content) for message in job.messages()]


def results(model):
    return [it["content"] for it in model.asked[-1].body["messages"] if it["role"] == "tool"]


def events(job, kind):
    return [event.data for event in job.collab().events if event.event_type == kind]


def decide(installation, job, answer, *, by="ann"):
    job.reply(by, answer)
    installation.work()


def test_approver_is_asked_with_tool_and_arguments(begin):
    _, job = begin(pay(5, note="for tea"))
    (question,) = job.pending()
    assert (question.asked, question.question.choices) == (("ann",), ("approve", "refuse"))
    assert "'pay'" in question.question.text
    assert json.loads(question.question.text.partition("\n\n")[2]) == {"amount": 5, "note": "for tea"}
    assert payments == []
    job.cancel()


def test_approved_call_is_made_once_without_another_request(begin, model):
    installation, job = begin(pay(5), completion("Done."))
    decide(installation, job, "approve")
    assert (said(job), results(model), len(model.asked)) == ([("ada", "Done.")], ["paid 5"], 2)
    assert [amount for amount, _ in payments] == [5]


def test_refused_call_is_not_made(begin, model):
    installation, job = begin(pay(5), completion("Then not."))
    decide(installation, job, "refuse")
    assert (said(job), results(model), payments) == ([("ada", "Then not.")], ["refused by ann"], [])


def test_each_decision_is_on_record(begin):
    installation, job = begin(pay(5), pay(6, call="c2"), completion("Done."))
    decide(installation, job, "approve")
    decide(installation, job, "refuse")
    assert [it["tool"] for it in events(job, "turn.parked")] == ["pay", "pay"]
    decisions = [(it["tool"], it["decision"], it["by"]) for it in events(job, "turn.answered")]
    assert decisions == [("pay", "approve", "ann"), ("pay", "refuse", "ann")]


def test_approval_holds_for_one_call(begin, model):
    installation, job = begin(pay(5), pay(5, call="c2"), completion("Done."))
    decide(installation, job, "approve")
    assert len(payments) == 1
    decide(installation, job, "approve")
    assert results(model) == ["paid 5", "paid 5"]
    assert len({effect for _, effect in payments}) == len(payments) == 2


def test_calls_of_one_answer_are_approved_one_by_one(begin, model):
    both = pay(5)
    calls = both.body["choices"][0]["message"]["tool_calls"]
    calls.extend(pay(6, call="c2").body["choices"][0]["message"]["tool_calls"])
    installation, job = begin(both, completion("Done."))
    decide(installation, job, "approve")
    assert [amount for amount, _ in payments] == [5]
    decide(installation, job, "approve")
    assert [amount for amount, _ in payments] == [5, 6]
    assert (results(model), len(model.asked)) == (["paid 5", "paid 6"], 2)


@pytest.mark.parametrize("tool", ["haggle", "draw"])
def test_call_without_a_storable_result_is_made_once(begin, tool):
    installation, job = begin(pay(5, tool=tool), pay(3, call="c2"), completion("Done."))
    decide(installation, job, "approve")
    decide(installation, job, "approve")
    assert ([amount for amount, _ in payments], said(job)) == ([5, 3], [("ada", "Done.")])


def test_model_gets_the_failure_of_an_approved_call(begin, model):
    installation, job = begin(pay(5, tool="fail_once"), completion("Done."))
    decide(installation, job, "approve")
    assert (said(job), len(payments)) == ([("ada", "Done.")], 1)
    assert results(model)[0].startswith("The tool failed: ")


def test_failed_call_is_repeated_with_its_effect_id(begin):
    policy = {"attempts": 2, "backoff_s": 0}
    installation, job = begin(pay(5, tool="fail_turn_once"), completion("Done."), policy=policy)
    decide(installation, job, "approve")
    installation.sweep_until(job, lambda: job.state().is_final)
    assert said(job) == [("ada", "Done.")]
    assert len(payments) == 2
    assert payments[0] == payments[1]


def test_no_answer_in_time_refuses(begin, model):
    wait = '\n[agents.ann]\nkind = "human"\ndeadline_s = 0.05\n'
    installation, job = begin(pay(5), completion("Then not."), text=wait)
    installation.sweep_until(job, lambda: job.state().is_final)
    assert (results(model), payments) == (["refused: no answer in time"], [])
    assert [it["decision"] for it in events(job, "turn.answered")] == ["refuse"]


@pytest.mark.parametrize(("default", "count"), [("approve", 1), ("yes", 0)])
def test_default_answer_decides(begin, default, count):
    wait = f'\n[agents.ann]\nkind = "human"\ndeadline_s = 0.05\nthen = "default"\ndefault = "{default}"\n'
    installation, job = begin(pay(5), completion("Done."), text=wait)
    installation.sweep_until(job, lambda: job.state().is_final)
    assert len(payments) == count


@pytest.mark.parametrize("then", ["reassign", "escalate"])
def test_deadline_policy_lets_no_observer_decide(begin, then):
    wait = f'\n[agents.ann]\nkind = "human"\ndeadline_s = 0.05\nthen = "{then}"\nto = "cyd"\n'
    wait += '\n[agents.cyd]\nkind = "human"\n'
    installation, job = begin(pay(5), completion("Then not."), text=wait, observers=["cyd"])
    installation.sweep_until(job, lambda: job.state().is_final or "cyd" in job.pending()[0].asked)
    assert (job.state().is_final, payments) == (True, [])


@pytest.mark.long
def test_escalation_asks_another_person_to_decide(begin):
    wait = '\n[agents.ann]\nkind = "human"\ndeadline_s = 2\nthen = "escalate"\nto = "ben"\n'
    wait += '\n[agents.ben]\nkind = "human"\n'
    installation, job = begin(pay(5), completion("Done."), text=wait, approvers=["ann", "ben"])
    installation.sweep_until(job, lambda: events(job, "turn.escalated"))
    decide(installation, job, "approve", by="ben")
    assert len(payments) == 1


@pytest.mark.long
@pytest.mark.parametrize(("then", "asked"), [("reassign", ("ben",)), ("escalate", ("ann", "ben"))])
def test_person_of_an_early_escalation_gets_a_new_period(begin, then, asked):
    wait = f'\n[agents.ann]\nkind = "human"\ndeadline_s = 3\nthen = "{then}"\nto = "ben"\n'
    wait += 'escalate_after_s = 0.1\nescalate_to = "ben"\n\n[agents.ben]\nkind = "human"\n'
    installation, job = begin(pay(5), completion("Done."), text=wait, approvers=["ann", "ben"])
    installation.sweep_until(job, lambda: job.pending()[0].asked == ("ann", "ben"))
    (first,) = job.pending()
    installation.sweep_until(job, lambda: job.pending()[0].until > first.until)
    assert job.pending()[0].asked == asked
    decide(installation, job, "approve", by="ben")
    assert len(payments) == 1


@pytest.mark.parametrize(
    ("tool", "how", "reason"),
    [
        ("pay", {"approvers": []}, "tool 'pay' needs an approval, and the session has no approvers"),
        ("pay", {"approvers": [], "observers": ["cyd"]}, "the session has no approvers"),
        ("pay_by_ben", {}, "tool 'pay_by_ben' needs an approval; question.to: must be"),
        ("pay_by_ben", {"observers": ["ben"]}, "tool 'pay_by_ben' needs an approval; question.to: must be"),
    ],
)
def test_turn_fails_for_good_without_a_person_to_ask(begin, model, tool, how, reason):
    _, job = begin(pay(5, tool=tool), policy={"attempts": 3, "then": "abort"}, **how)
    state = job.state()
    assert (state.reason, len(model.asked), payments) == ("failed", 1, [])
    assert reason in state.detail


@pytest.mark.parametrize("how", [{"people": ["ben"]}, {"approvers": ["ann", "ben"]}])
def test_tool_names_the_person_who_decides(begin, how):
    installation, job = begin(pay(5, tool="pay_by_ben"), completion("Done."), **how)
    decide(installation, job, "approve", by="ben")
    assert len(payments) == 1


def test_question_contains_no_secrets(begin):
    _, job = begin(pay(5, note="key sk-abcdefgh12"))
    (question,) = job.pending()
    assert "sk-abcdefgh12" not in question.question.text
    job.cancel()


def test_arguments_too_long_to_be_shown_are_refused(begin, model):
    _, job = begin(pay(5, note="x" * 40_000), completion("Then not."))
    assert (said(job), payments) == ([("ada", "Then not.")], [])
    assert results(model)[0].startswith("refused: the arguments are too long to be shown")


def test_guard_of_the_arguments_and_approval_ask_once_each(begin, model):
    installation, job = begin(pay(5, note="tea"), completion("Done."), agent="eve")
    for part in ("guard 'no_tea'", "May the tool"):
        (question,) = job.pending()
        assert part in question.question.text
        decide(installation, job, "approve")
    assert (said(job), len(payments), len(model.asked)) == ([("ada", "Done.")], 1, 2)


def test_substitute_of_a_guarded_agent_asks_once(begin):
    wait = '\n[agents.ann]\nkind = "human"\ndeadline_s = 0.5\nthen = "escalate"\nto = "ann"\n'
    policy = {"attempts": 1, "then": "substitute", "substitute": "ada"}
    installation, job = begin(pay(5, note="tea"), completion("Done."), agent="eve", text=wait, policy=policy)
    installation.sweep_until(job, lambda: job.pending() and job.pending()[0].question.tool == "pay")
    decide(installation, job, "approve")
    assert (job.pending(), [amount for amount, _ in payments]) == ((), [5])
    assert [it["tool"] for it in events(job, "turn.parked")[1:]] == ["pay"]


def test_replay_asks_nobody(begin, model):
    installation, job = begin(pay(5), pay(6, call="c2"), completion("Done."), record=True)
    decide(installation, job, "approve")
    decide(installation, job, "refuse")
    found = installation.client.replay(job.id)
    assert (found.requests, found.tool_calls, found.run_again) == (3, 2, (1,))
    assert (len(model.asked), len(payments), installation.client.inbox("ann")) == (3, 1, [])


def test_corrected_call_is_replayed(begin):
    installation, job = begin(pay(5, tool="haggle"), pay(3, call="c2"), completion("Done."), record=True)
    decide(installation, job, "approve")
    decide(installation, job, "approve")
    assert installation.client.replay(job.id).tool_calls == 2


def test_approved_call_whose_result_is_lost_is_not_repeated(begin, model):
    installation, job = begin(pay(5), pay(6, call="c2"), pay(5), pay(6, call="c2"), completion("Done."))
    decide(installation, job, "approve")
    (question,) = job.pending()
    installation.runtime.store.client.delete(calls_key(job.id, question.turn_number))
    decide(installation, job, "approve")
    assert [amount for amount, _ in payments] == [5, 6]
    assert results(model)[0].startswith("The tool was called before")


@pytest.mark.long
def test_worker_that_lost_the_turn_makes_no_approved_call(begin, monkeypatch):
    installation, job = begin(pay(5), completion("Done."), policy={"attempts": 2, "backoff_s": 0})
    services = installation.runtime.agents.services
    monkeypatch.setattr(services, "renew", lambda *_: False)
    decide(installation, job, "approve")
    assert payments == []
    monkeypatch.undo()
    installation.sweep_until(job, lambda: job.state().is_final)
    assert (said(job), len(payments)) == ([("ada", "Done.")], 1)
