"""A scripted model calls a tool that needs an approval: real workers in this process, an embedded server."""

from __future__ import annotations

import pytest

from live import result_of
from scaling import patient
from stub_agents.approvals import payments
from symposia import LocalClient, run_local_sync
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.llm.settings import LLMSettings, ModelSource
from symposia.agents.llm.tools import Toolbox
from symposia.agents.tables import ToolEntry
from symposia.testing import Call, ScriptedModel

COLLAB = {
    "title": "Tea",
    "purpose": "buy tea",
    "mode": "round_robin",
    "participants": [{"participant_id": "ada"}],
}


@pytest.fixture
def model():
    payments.clear()
    return ScriptedModel(Call("pay", {"amount": 5}), Call("pay", {"amount": 9}), "Bought.")


@pytest.fixture
def ada(model):
    entry = ToolEntry(callable="stub_agents.approvals:pay", approval=True)
    toolbox = Toolbox({"pay": entry}, {}, {}.get)
    return LLMAgent(lambda: [ModelSource(model)], LLMSettings(), toolbox=toolbox)


def test_session_waits_for_each_decision(ada, model):
    with LocalClient({"ada": ada}) as client:
        job = client.submit(COLLAB, stop={"max_turns": 1}, approvers=["ann"], observers=["cyd"])
        for question, answer in zip(job.questions(), ("approve", "refuse"), strict=False):
            assert question.asked == ("ann",)
            job.reply("ann", answer, token=question.reply_token)
        result = result_of(job)
    assert [message.content for message in result.dialog.messages] == ["Bought."]
    assert [amount for amount, _ in payments] == [5]
    assert (len(model.asked), model.asked[-1].prompt) == (3, "refused by ann")


def test_local_run_without_an_approver_fails_at_once(ada):
    policy = {"attempts": 3, "then": "abort"}
    result = run_local_sync(
        COLLAB, agents={"ada": ada}, stop={"max_turns": 1}, policy=policy, timeout_s=patient(60)
    )
    assert (result.reason, payments) == ("failed", [])
    assert result.detail.endswith("tool 'pay' needs an approval, and the session has no approvers")
