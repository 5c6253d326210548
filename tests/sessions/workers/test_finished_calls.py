"""Finished model calls of a dead worker are not repeated."""

from __future__ import annotations

import threading

import pytest

from live import result_of, until
from servers.model_stub import completion, refusal
from symposia.models.sessions.options import AfterRetries, FailurePolicy
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.turns.turn import Usage
from symposia.state.redis.connect import connect

#: On a machine with much else to do.
pytestmark = pytest.mark.timeout(240)

MODELS = """
[models.stub]
model = "stub"
base_url = "{url}"

[agents.model]
kind = "llm"
model = "stub"
"""


@pytest.mark.long
def test_worker_killed_before_commit_pays_once(installation, model, checked):
    model.answers(completion("paid for once"), completion("paid for twice"))
    first = installation.start_worker(app="processes.apps:hesitant")
    job = installation.submit("round_robin", {"ann": "model", "bob": "say"}, stop=MaxTurns(2))
    until(
        (installation.folder / "before-commit").exists,
        timeout_s=90,
        what="the answer is there and not written",
    )
    first.kill()
    installation.start_worker()
    result = result_of(job, timeout_s=installation.lease_s + 90)

    assert len(model.asked) == 1
    assert result.dialog.messages[0].content == "paid for once"
    assert result.usage == Usage(input_tokens=11, output_tokens=7, requests=1)
    checked(job, result)


def test_finished_calls_are_removed_with_the_commit(shared, shared_model):
    job = shared.submit("round_robin", {"ann": "model", "bob": "model"}, stop=MaxTurns(2))
    result_of(job, timeout_s=90)
    with connect(shared.redis_url) as client:
        until(lambda: not list(client.scan_iter("symposia:*:calls:*")), what="no finished calls are left")


@pytest.mark.long
def test_worker_warns_at_start(installation, model):
    registry = installation.folder / "agents.toml"
    lost = '[tools.lost]\ncallable = "nowhere:f"\n'
    text = registry.read_text().replace("[agents.model]", f'api_key_env = "NO_KEY"\n{lost}[agents.model]')
    registry.write_text(text + 'tools = ["lost"]\n')
    log = installation.start_worker().log()
    assert f"{registry}: [models.stub] api_key_env: environment variable NO_KEY is not set" in log
    assert f"{registry}: [tools.lost] callable: ImportError: nowhere:f" in log


TOOLS = """tools = ["book"]

[tools.book]
callable = "stub_agents.tools:book"
"""


@pytest.mark.long
def test_killed_worker_repeats_no_finished_call(installation, model, checked, monkeypatch):
    log, never = installation.folder / "tools.jsonl", threading.Event()
    monkeypatch.setenv("TOOL_LOG", str(log))
    with (installation.folder / "agents.toml").open("a") as file:
        file.write(TOOLS)
    book = completion(tool=("book", {"room": "blue"}))
    model.answers(book, completion("lost", gate=never), completion("The blue room is yours."))
    first = installation.start_worker()
    job = installation.submit("round_robin", {"ann": "model", "bob": "say"}, stop=MaxTurns(1))
    until(lambda: len(model.asked) == 2, timeout_s=90, what="the tool has run and the model is asked again")
    first.kill()
    installation.start_worker()
    result = result_of(job, timeout_s=installation.lease_s + 90)

    assert len(model.asked) == 3, "the unfinished request is asked again, the finished one is not"
    assert len(log.read_text().splitlines()) == 1
    assert result.dialog.messages[0].content == "The blue room is yours."
    assert result.usage.requests == 2
    checked(job, result)


@pytest.mark.long
def test_usage_of_a_killed_worker_is_counted(installation, model, checked, monkeypatch):
    never = threading.Event()
    monkeypatch.setenv("TOOL_LOG", str(installation.folder / "tools.jsonl"))
    with (installation.folder / "agents.toml").open("a") as file:
        file.write(TOOLS)
    book = completion(tool=("book", {"room": "blue"}))
    model.answers(book, completion("lost", gate=never), refusal(400, "never"))
    first = installation.start_worker()
    policy = FailurePolicy(attempts=1, then=AfterRetries.SUBSTITUTE, substitute="human")
    job = installation.submit("round_robin", {"ann": "model", "bob": "say"}, stop=MaxTurns(1), policy=policy)
    until(lambda: len(model.asked) == 2, timeout_s=90, what="the tool has run and the model is asked again")
    first.kill()
    installation.start_worker()
    until(job.pending, timeout_s=installation.lease_s + 90, what="the person is asked")
    (question,) = job.pending()
    job.reply(question.asked[0], "I booked it.")
    result = result_of(job, timeout_s=90)

    assert [it.content for it in result.dialog.messages] == ["I booked it."]
    assert result.usage == job.usage()["ann"] == Usage(input_tokens=11, output_tokens=7, requests=1)
    checked(job, result)
