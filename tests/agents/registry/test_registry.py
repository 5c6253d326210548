"""The registry: agents by name from a file, and its validation."""

from __future__ import annotations

import subprocess
import sys

import pytest

from files_of_others import give_to_other_user
from scaling import patient
from symposia.agents.kinds.python import PythonAgent
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.registry.built_in import BUILT_IN
from symposia.agents.registry.registry import Registry
from symposia.models.errors import AgentFailed, InvalidInput, RegistryError, UnknownAgent
from symposia.models.sessions.options import AgentBinding
from symposia.models.turns.turn import TurnOutcome


def bound(agent, **changes):
    return AgentBinding(agent=agent, **changes)


def test_registry_names_file_and_built_in_agents(load):
    assert load().names() == tuple(sorted([*BUILT_IN, "claude", "greeter", "script", "writer"]))


def test_registry_without_a_file_has_built_in_agents(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Registry.load().names() == (
        *(
            "bandit",
            "clarity",
            "codespell",
            "consistency",
            "echo",
            "eslint",
            "facts",
            "gitleaks",
            "hadolint",
            "human",
        ),
        *(
            "inspector",
            "judge",
            "local",
            "noop",
            "oxlint",
            "revive",
            "ruff",
            "session",
            "shellcheck",
            "sqlfluff",
        ),
    )


def test_a_file_in_the_working_folder_is_found(agents, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agents.toml").write_text(agents)
    assert "greeter" in Registry.load().names()


def test_a_found_file_that_another_user_left_is_refused(agents, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "agents.toml"
    file.write_text(agents)
    give_to_other_user(file, monkeypatch)
    assert "greeter" in Registry.load().names()
    tmp_path.chmod(0o1777)
    with pytest.raises(RegistryError, match="must not be left by another user where all may write"):
        Registry.load()
    assert "greeter" in Registry.load(file).names()


def test_every_agent_is_described(load):
    described = {info.name: (info.kind, info.what, info.built_in) for info in load().describe()}
    assert described["greeter"] == ("python", "stub_agents.callables:greet", False)
    assert described["writer"] == ("llm", "house", False)
    assert described["script"] == ("scripted", "2 replies", False)
    assert described["local"] == ("llm", "local", True)


def test_file_may_redefine_a_built_in_name(load, turn):
    registry = load('[agents.echo]\nkind = "scripted"\nreplies = ["my own"]')
    assert registry.get_agent(bound("echo")).speak_now(turn()) == TurnOutcome.say("my own")
    assert not next(info for info in registry.describe() if info.name == "echo").built_in


def test_each_kind_of_entry_makes_its_kind_of_agent(load, turn):
    registry = load()
    assert isinstance(registry.get_agent(bound("greeter")), PythonAgent)
    assert isinstance(registry.get_agent(bound("writer")), LLMAgent)
    assert registry.get_agent(bound("script")).speak_now(turn()) == TurnOutcome.say("hello")


def test_equal_bindings_share_one_agent(load):
    registry = load()
    parameters = {"replies": ["a"], "deep": {"x": [1, None]}}
    first = registry.get_agent(bound("script", parameters=parameters))
    assert registry.get_agent(bound("script", parameters=dict(reversed(parameters.items())))) is first
    assert registry.get_agent(bound("script")) is not first


def test_unknown_agent_error_suggests_similar_names(load):
    with pytest.raises(
        UnknownAgent,
        match=r"agent: must be a registered agent, did you mean writer or greeter\? \(got 'wirter'\)",
    ):
        load().get_agent(bound("wirter"))


def test_binding_may_bring_its_own_replies(load, turn):
    agent = load().get_agent(bound("script", parameters={"replies": ["mine"], "at_end": "pass"}))
    assert agent.speak_now(turn()) == TurnOutcome.say("mine")
    assert agent.speak_now(turn(turn_number=4)) == TurnOutcome.skip_turn()


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"replies": "hello"}, "parameters.replies: must be a list (got 'hello')"),
        ({"replies": [{"run": "rm"}]}, "parameters.replies[0].run: is not a known field (got 'rm')"),
        ({"at_end": "explode"}, "parameters.at_end: must be 'repeat', 'cycle' or 'pass' (got 'explode')"),
    ],
)
def test_invalid_replies_of_a_binding_are_refused(load, parameters, said):
    with pytest.raises(InvalidInput) as error:
        load().get_agent(bound("script", parameters=parameters))
    assert str(error.value) == said


def test_an_agent_is_shown_the_window_its_entry_names(load):
    registry = load()
    assert registry.window(bound("greeter")) == 7
    assert registry.window(bound("noop")) == 0
    assert registry.window(bound("echo")) == 1
    assert registry.window(bound("noop", parameters={"replies": ["{last}"]})) == 1


def test_window_of_an_unknown_agent_is_empty(load):
    assert load().window(bound("nobody")) == 0
    assert load().window(bound("script", parameters={"replies": 7})) == 0


def test_missing_key_fails_the_turn_without_retry(load, runner, turn):
    with pytest.raises(AgentFailed, match="environment variable HOUSE_KEY is not set") as error:
        runner.run(load().get_agent(bound("writer")), turn(), timeout_s=patient(5))
    assert not error.value.retryable


def test_missing_key_of_a_provider_fails_the_turn_in_one_line(load, runner, turn, without_keys):
    registry = load('[agents.writer]\nkind = "llm"\nmodel = "openai:m"\n')
    with pytest.raises(AgentFailed, match=r"^environment variable OPENAI_API_KEY is not set$") as error:
        runner.run(registry.get_agent(bound("writer")), turn(), timeout_s=patient(5))
    assert not error.value.retryable


def test_local_model_that_does_not_run_is_retryable(runner, turn, monkeypatch):
    monkeypatch.setattr("symposia.agents.llm.entry.missing_part", lambda: None)
    with pytest.raises(
        AgentFailed, match="installed but not running on this machine: start or restart `symposia up`"
    ) as error:
        runner.run(Registry().get_agent(bound("local")), turn(), timeout_s=patient(5))
    assert error.value.retryable


def test_missing_local_model_names_what_to_install(runner, turn, monkeypatch):
    monkeypatch.setattr("symposia.agents.local_model.server.find_spec", lambda _name: None)
    with pytest.raises(AgentFailed, match="install the local model with `pip install 'symposia") as error:
        runner.run(Registry().get_agent(bound("local")), turn(), timeout_s=patient(5))
    assert not error.value.retryable
    assert "symposia up" not in str(error.value)


def test_agents_on_the_local_model_are_known(load):
    text = """
[agents.near]
kind = "llm"
model = "local"

[agents.far]
kind = "llm"
model = "some:model"
fallback = ["local"]
"""
    assert load(text).names_on_local_model() == ("local", "near")
    assert load(text).names_on_local_model(built_in=False) == ("near",)
    assert load("").names_on_local_model(built_in=False) == ()
    house = '\n[models.local]\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n'
    assert load(text + house).names_on_local_model() == ()


def test_unimportable_code_fails_the_agent(load):
    registry = load('[agents.lost]\nkind = "python"\ncallable = "nowhere:f"')
    with pytest.raises(AgentFailed, match="nowhere:f: ModuleNotFoundError") as error:
        registry.get_agent(bound("lost"))
    assert not error.value.retryable


def test_loading_a_registry_imports_no_agent_code(agents, tmp_path):
    (tmp_path / "agents.toml").write_text(agents)
    program = """
import sys
from pathlib import Path
from symposia.agents.registry.registry import Registry
Registry.load(Path("agents.toml")).describe()
print([name for name in ("stub_agents.callables", "pydantic_ai", "openai") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=patient(30),
        check=True,
    )
    assert done.stdout.strip() == "[]"
