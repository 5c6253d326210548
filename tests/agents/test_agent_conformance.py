"""Rules that hold for every kind of agent."""

from __future__ import annotations

import sys

import pytest

from scaling import patient
from servers.model_stub import completion
from symposia.agents.registry.registry import Registry
from symposia.models.errors import AgentError
from symposia.models.sessions.options import AgentBinding
from symposia.testing.conformance import AgentConformance

pytestmark = pytest.mark.real_models

FILE = """
[models.stub]
model = "stub"
base_url = "{url}"
structured = false

[models.cut]
model = "stub"
base_url = "http://127.0.0.1:9/v1"
retries = 0
structured = false

[agents.llm]
kind = "llm"
model = "stub"

[agents.llm-falling-back]
kind = "llm"
model = "cut"
fallback = ["stub"]

[agents.python-sync]
kind = "python"
callable = "stub_agents.callables:greet"

[agents.python-async]
kind = "python"
callable = "stub_agents.callables:greet_later"

[agents.program]
kind = "command"
argv = ["{python}", "-c", "print('so I say')"]

[agents.remote]
kind = "external"
url = "https://hooks.example.com/turns"
secret_env = "PARTNER_SECRET"

[agents.scripted]
kind = "scripted"
replies = ["{{me}} speaks"]

[agents.scripted-slowly]
kind = "scripted"
replies = [{{ say = "{{me}} speaks", delay_s = 0.001 }}]
"""
KINDS = [
    *("llm", "llm-falling-back", "python-sync", "python-async", "program", "scripted", "scripted-slowly"),
    *("echo", "noop", "human", "remote"),
]


@pytest.fixture
def registry(model, tmp_path):
    def load(more=""):
        path = tmp_path / "agents.toml"
        path.write_text(FILE.format(url=model.url, python=sys.executable) + more)
        return Registry.load(path)

    return load


class TestEveryKind(AgentConformance):
    @pytest.fixture(params=KINDS)
    def agent(self, request, model, registry):
        model.answers(completion("so I say"))
        return registry().get_agent(AgentBinding(agent=request.param))


def test_failing_agent_raises_only_an_agent_error(runner, turn, model, registry):
    model.answers(completion(""))
    known = registry(
        '[agents.bad-python]\nkind = "python"\ncallable = "stub_agents.callables:wrong"\n'
        '[agents.bad-script]\nkind = "scripted"\nreplies = [{ fail = "no" }]\n'
    )
    for name in ("llm", "bad-python", "bad-script"):
        with pytest.raises(AgentError) as error:
            runner.run(known.get_agent(AgentBinding(agent=name)), turn(), timeout_s=patient(20))
        assert "\n" not in str(error.value)
