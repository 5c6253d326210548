"""A model asks a person: usage before and after the question is counted once."""

from __future__ import annotations

import pytest

from live import result_of
from servers.model_stub import StubModel, completion, refusal
from symposia.state.redis.keys import calls_key

pytestmark = [pytest.mark.real_models, pytest.mark.usefixtures("same_day")]

REGISTRY = """
[models.stub]
model = "stub"
base_url = "{url}"
retries = 0

[agents.model]
kind = "llm"
model = "stub"
"""

#: What the stub says each of its answers costs.
TOKENS = 18


@pytest.fixture
def model():
    with StubModel() as stub:
        yield stub


@pytest.fixture
def ask(make_installation, model):
    """A session whose only turn is the model's, worked off and answered once."""
    installation = make_installation(REGISTRY.format(url=model.url))

    def asked(**how):
        how = {"stop": {"max_turns": 1}, **how}
        job = installation.submit("round_robin", {"ann": "model"}, people=["ben"], **how)
        installation.work()
        job.reply("ben", "yes")
        installation.work()
        return installation, job

    return asked


def test_usage_before_a_question_counts_once(ask, model):
    model.answers(completion("ASK ben: May I?"), completion("Done."))
    _, job = ask()
    assert [it.content for it in job.messages()] == ["May I?", "yes", "Done."]
    usage = result_of(job).usage
    assert (len(model.asked), usage.requests, usage.tokens) == (2, 2, 2 * TOKENS)


def test_usage_before_a_failing_call_counts_once(ask, model):
    model.answers(completion("ASK ben: May I?"), refusal(400, "no"))
    _, job = ask(policy={"attempts": 1})
    result = result_of(job)
    assert (result.reason, result.usage.requests, result.usage.tokens) == ("failed", 1, TOKENS)


def test_usage_of_a_failed_attempt_is_booked_at_once(ask, model):
    model.answers(completion("ASK ben: May I?"), refusal(500, "not now"), completion("Done."))
    how = {"stop": {"max_turns": 1, "max_tokens": 1_000}, "policy": {"attempts": 2, "backoff_s": 0}}
    installation, job = ask(**how)
    (turn,) = job.state().open_turns()
    assert (turn.reserved.tokens, job.state().usage.tokens) == (0, TOKENS)
    installation.sweep_until(job, lambda: job.state().is_final)
    assert result_of(job).usage.tokens == 2 * TOKENS


def test_rate_limit_does_not_delay_the_deadline(make_installation, model):
    """What is due for a turn that waits does not wait for its model's minute."""
    registry = REGISTRY.replace("retries = 0", "retries = 0\nrequests_per_minute = 1")
    installation = make_installation(registry.format(url=model.url))
    model.answers(completion("ASK ben: May I?"))
    ben = {"agent": "human", "wait": {"deadline_s": 0.05, "then": "cancel"}}
    job = installation.submit("round_robin", {"ann": "model", "ben": ben}, people=["ben"])
    installation.work()
    installation.sweep_until(job, lambda: job.state().is_final)
    assert (result_of(job).reason, len(model.asked)) == ("no_answer", 1)


def test_tenant_pays_each_part_of_a_turn_once(ask, model):
    model.answers(completion("ASK ben: May I?"), completion("Done."))
    installation, _ = ask(tenant="acme")
    spent = installation.client.tenant("acme")
    assert (spent.tokens, spent.turns) == (2 * TOKENS, 1)


@pytest.mark.parametrize("substitute", ["noop", "human"])
def test_usage_of_a_replaced_model_is_counted(make_installation, model, substitute):
    installation = make_installation(REGISTRY.format(url=model.url))
    model.answers(completion(""))
    policy = {"attempts": 1, "then": "substitute", "substitute": substitute}
    job = installation.submit(
        "round_robin", {"ann": "model"}, stop={"max_turns": 1}, policy=policy, tenant="acme"
    )
    installation.work()
    for question in job.pending():
        job.reply(question.asked[0], "ok")
        installation.work()
    assert len(model.asked) > 0
    assert result_of(job).usage.tokens == TOKENS * len(model.asked)
    assert installation.client.tenant("acme").tokens == TOKENS * len(model.asked)


def test_repaired_answer_counts_each_request_once(make_installation, model):
    installation = make_installation(REGISTRY.format(url=model.url))
    loose = completion("- [TENSION T1]: Loose, and [RESOLVED T1")
    model.answers(completion(""), completion(""), completion(""), loose, completion("[TENSION T01: Loose]"))
    policy = {"attempts": 2, "backoff_s": 0}
    stop = {"max_turns": 1}
    job = installation.submit("round_robin", {"ann": "model"}, stop=stop, policy=policy, protocol="alignment")
    installation.work()
    installation.sweep_until(job, lambda: job.state().is_final)
    assert [it.content for it in job.messages()] == ["[TENSION T01: Loose]"]
    assert result_of(job).usage.tokens == TOKENS * len(model.asked) == TOKENS * 5


def test_usage_is_counted_if_the_session_is_cancelled(make_installation, model):
    installation = make_installation(REGISTRY.format(url=model.url))
    model.answers(completion(""))
    policy = {"attempts": 2, "backoff_s": 600}
    job = installation.submit(
        "round_robin", {"ann": "model"}, stop={"max_turns": 1}, policy=policy, tenant="acme"
    )
    installation.work()
    paid = TOKENS * len(model.asked)
    assert installation.client.tenant("acme").tokens == paid > 0
    job.cancel()
    assert result_of(job).usage.tokens == job.usage()["ann"].tokens == paid


def test_finished_calls_are_kept_until_the_commit(make_installation, model):
    installation = make_installation(REGISTRY.format(url=model.url))
    model.answers(completion("ASK ben: May I?"), completion("Done."))
    wait = {"agent": "human", "wait": {"deadline_s": 7 * 86_400}}
    stop = {"max_turns": 1}
    job = installation.submit("round_robin", {"ann": "model", "ben": wait}, people=["ben"], stop=stop)
    installation.work()
    client, kept = installation.runtime.store.client, calls_key(job.id, 1)
    assert client.pttl(kept) > 7 * 86_400_000, "for as long as somebody may answer, and not for a day only"
    job.reply("ben", "yes")
    installation.work()
    assert [it.content for it in job.messages()] == ["May I?", "yes", "Done."]
    assert not client.exists(kept)
