"""The registry: agents by name from a file, and its validation."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from files_of_others import give_to_other_user
from scaling import patient
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.python import PythonAgent
from symposia.agents.registry.built_in import BUILT_IN
from symposia.agents.registry.registry import DEMO_FILE, Registry
from symposia.models.errors import AgentFailed, InvalidInput, RegistryError, UnknownAgent
from symposia.models.sessions.options import AgentBinding
from symposia.models.turns.turn import TurnOutcome

FILE = """
[models.house]
model = "qwen"
base_url = "http://localhost:8000/v1"
api_key_env = "HOUSE_KEY"

[agents.writer]
kind = "llm"
model = "house"
instructions = "You write."

[agents.claude]
kind = "llm"
model = "anthropic:claude-sonnet-4-5"

[agents.greeter]
kind = "python"
callable = "stub_agents.callables:greet"
window = 7

[agents.script]
kind = "scripted"
replies = ["hello", { pass = true }]
"""


@pytest.fixture
def load(tmp_path):
    def loaded(text=FILE, **options):
        path = tmp_path / "agents.toml"
        path.write_text(text)
        return Registry.load(path, **options)

    return loaded


@pytest.fixture
def without_keys(monkeypatch):
    """An environment without the variables of model providers."""
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "AZURE_VOICELIVE_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)


def bound(agent, **changes):
    return AgentBinding(agent=agent, **changes)


def test_registry_names_file_and_built_in_agents(load):
    assert load().names() == tuple(sorted([*BUILT_IN, "claude", "greeter", "script", "writer"]))


def test_registry_without_a_file_has_built_in_agents(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Registry.load().names() == (
        *("bandit", "clarity", "consistency", "echo", "eslint", "facts", "human"),
        *("inspector", "judge", "local", "noop", "ruff", "session", "shellcheck"),
    )


def test_a_file_in_the_working_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agents.toml").write_text(FILE)
    assert "greeter" in Registry.load().names()


def test_a_found_file_that_another_user_left_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "agents.toml"
    file.write_text(FILE)
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


@pytest.mark.parametrize(
    ("text", "entry", "field", "rule"),
    [
        ("[agents", "", "", "must be valid TOML: "),
        ("[agent.x]", "agent", "", "is not a known field"),
        ("[agents.x]\nkind = 'magic'", "agents.x", "kind", "must be one of llm, python, scripted"),
        ("[agents.x]\nmodel = 'local'", "agents.x", "kind", "must be one of llm, python, scripted"),
        ("[agents.x]\nkind = 'llm'", "agents.x", "model", "is required"),
        ("[agents.x]\nkind = 'llm'\nmodel = 'huose'\n[models.house]\nmodel = 'p:m'", "agents.x", "model",
         "must be a [models] table (house) or provider:model (got 'huose')"),
        ("[agents.x]\nkind = 'llm'\nmodel = 'local'\nfallback = ['huose']", "agents.x", "fallback[0]",
         "must be a [models] table (local) or provider:model (got 'huose')"),
        ("[agents.x]\nkind = 'llm'\nmodel = 'local'\ntools = ['sarch']\n[tools.search]\ncallable = 'a:b'",
         "agents.x", "tools[0]", "must be a [tools] or [mcp] table, or an agent of kind session (search; got 'sarch')"),
        ("[agents.x]\nkind = 'llm'\nmodel = 'local'\ntools = ['any']", "agents.x", "tools[0]",
         "must be a [tools] or [mcp] table, or an agent of kind session (none exist; got 'any')"),
        ("[tools.search]\ncallable = 'a:b'\n[mcp.search]\nurl = 'http://h/mcp'", "mcp.search", "",
         "must not have the same name as a tool"),
        ("[tools.search]\ncallable = 'import os'", "tools.search", "callable", "must be module:name"),
        ("[tools.'a b']\ncallable = 'a:b'", "tools.a b", "[key]", "must be 1 to 40 letters"),
        ("[mcp.s]", "mcp.s", "", "must have exactly one of `url` and `command`"),
        ("[mcp.s]\nurl = 'http://h/mcp'\ntoken_env = 'sk-secret'", "mcp.s", "token_env",
         "must be the name of an environment variable"),
        ("[agents.x]\nkind = 'llm'\nmodel = 'local'\nsettings = {timeout = 3}", "agents.x", "settings",
         "has the unknown model setting "),
        ("[agents.x]\nkind = 'llm'\nmodel = 'local'\ntemperature = 3", "agents.x", "temperature",
         "must be less than or equal to 2"),
        ("[agents.x]\nkind = 'llm'\nmodel = 'local'\napi_key = 'sk-secret'", "agents.x", "api_key",
         "is not a known field (got ***)"),
        ("[agents.x]\nkind = 'python'\ncallable = 'os.system'", "agents.x", "callable", "must be module:name"),
        ("[agents.x]\nkind = 'scripted'\nreplies = ['a', {shout = 'b'}]", "agents.x", "replies[1].shout",
         "is not a known field"),
        ("[agents.x]\nkind = 'scripted'\nreplies = [{}]", "agents.x", "replies[0]", "must set at least one of `say`"),
        ("[tools.pay]\ncallable = 'a:b'\napproval = 3", "tools.pay", "approval",
         "must be true, false, or the name of a person"),
        ("[tools.pay]\ncallable = 'a:b'\napproval = ' '", "tools.pay", "approval", "must be true, false, or the name"),
        ("[tools.pay]\ncallable = 'a:b'\napproval = 'ann '", "tools.pay", "approval", "must be true, false, or the name"),
        ("[mcp.m]\ncommand = ['m']\napproval = 'ann'", "mcp.m", "approval",
         "must be true, false, or a list of names of tools"),
        ("[mcp.m]\ncommand = ['m']\ntools = ['a']\napproval = ['b']", "mcp.m", "",
         "approval: must name tools of `tools` (got 'b')"),
        ("[models.m]\nmodel = 'gpt'", "models.m", "", "must name a provider (`provider:model`) or have a base_url"),
        ("[models.m]\nmodel = 'gpt'\nbase_url = 'localhost:80'", "models.m", "base_url", "must be a URL such as"),
        ("[models.m]\nmodel = 'gpt'\nbase_url = 'http://u:hunter2@h/v1'", "models.m", "base_url",
         "must not contain credentials"),
        ("[models.m]\nmodel = 'gpt'\nbase_url = 'http://h/v1'\napi_key_env = 'sk-secret'", "models.m",
         "api_key_env", "must be the name of an environment variable, not the key itself (got ***)"),
    ],
)  # fmt: skip
def test_broken_rule_error_names_file_table_and_field(load, tmp_path, text, entry, field, rule):
    with pytest.raises(RegistryError) as error:
        load(text)
    said = str(error.value)
    assert (error.value.file, error.value.entry, error.value.field) == (
        str(tmp_path / "agents.toml"),
        entry,
        field,
    )
    assert error.value.rule.startswith(rule)
    assert said.startswith(f"{tmp_path / 'agents.toml'}: ")
    assert "\n" not in said
    assert "hunter2" not in said
    assert "sk-secret" not in said


def test_missing_registry_file_is_reported(tmp_path):
    with pytest.raises(
        RegistryError, match=re.escape("none.toml: cannot be read: No such file or directory")
    ):
        Registry.load(tmp_path / "none.toml")


def test_check_finds_missing_imports_and_variables(load):
    lost = '[agents.lost]\nkind = "python"\ncallable = "nowhere:f"\n'
    registry = load(FILE.replace("anthropic:", "nowhere:") + lost)
    assert [str(problem) for problem in registry.check()] == [
        f"{registry.path}: [agents.claude] model: Unknown provider: nowhere",
        f"{registry.path}: [agents.lost] callable: ImportError: nowhere:f: ModuleNotFoundError: No module named 'nowhere'",
        f"{registry.path}: [models.house] api_key_env: environment variable HOUSE_KEY is not set",
    ]


MODEL = "[models.m]\nmodel = 'm'\nbase_url = 'http://127.0.0.1/v1'\n"
AGENT = MODEL + "[agents.x]\nkind = 'llm'\nmodel = 'm'\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (AGENT + "tools = ['t']\n[tools.t]\ncallable = 'nowhere:f'", "[tools.t] callable: ImportError: nowhere:f: "),
        (AGENT + "tools = ['t']\n[tools.t]\ncallable = 'stub_agents.tools:not_callable'", "[tools.t] callable: ImportError"),
        (AGENT + "tools = ['s']\n[mcp.s]\nurl = 'http://h/mcp'\ntoken_env = 'TOKEN'",
         "[mcp.s] token_env: environment variable TOKEN is not set"),
        (AGENT + "tools = ['s']\n[mcp.s]\ncommand = ['x']\nenv = ['OWNER']",
         "[mcp.s] env: environment variable OWNER is not set"),
        (AGENT + "output = 'stub_agents.tools:add'", "[agents.x] output: ImportError: stub_agents.tools:add: TypeError: is not a "),
        (AGENT + "fallback = ['nowhere:m']", "[agents.x] fallback[0]: Unknown provider: nowhere"),
        (AGENT + "fallback = ['openai:m']",
         "[agents.x] fallback[0]: environment variable OPENAI_API_KEY is not set"),
        (AGENT.replace("base_url = 'http://127.0.0.1/v1'", "").replace("'m'\n\n", "'azure:m'\n\n"),
         "[models.m] model: environment variable AZURE_OPENAI_ENDPOINT or AZURE_VOICELIVE_ENDPOINT is not set"),
    ],
)  # fmt: skip
def test_check_finds_problems_of_a_model_agent(load, without_keys, text, said):
    (problem,) = load(text).check()
    assert str(problem).startswith(f"{problem.file}: {said}")


def test_check_reports_a_shared_problem_once(load):
    again = '[agents.second]\nkind = "llm"\nmodel = "house"\n'
    assert len([p for p in load(FILE + again).check() if p.entry == "models.house"]) == 1


def test_check_finds_nothing_if_nothing_is_missing(load, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    registry = load(FILE.replace("anthropic:", "openai:"), getenv={"HOUSE_KEY": "k"}.get)
    assert registry.check() == []


def test_only_variables_that_the_file_names_are_read(load):
    asked = []
    load(FILE, getenv=asked.append).check()
    assert asked == ["HOUSE_KEY"]


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
    monkeypatch.setattr("symposia.agents.llm.factory.missing_part", lambda: None)
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


def test_the_agents_of_the_demo_are_in_order():
    registry = Registry.load(DEMO_FILE)
    assert registry.check() == []
    for name in registry.names():
        if name != "session":  # it needs the document of a session
            registry.get_agent(bound(name))


def test_loading_a_registry_imports_no_agent_code(tmp_path):
    (tmp_path / "agents.toml").write_text(FILE)
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


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (
            'kind = "human"\nthen = "reassign"\nto = "ech"',
            "to: must be a registered agent, did you mean echo? (got 'ech')",
        ),
        (
            'kind = "command"\nargv = ["no-such-program"]',
            "argv[0]: must be a program on the PATH, or the path of a program (got 'no-such-program')",
        ),
        (
            'kind = "command"\nargv = ["/no/such/program"]',
            "argv[0]: must be a program on the PATH, or the path of a program (got '/no/such/program')",
        ),
        (
            'kind = "command"\nargv = ["{python}"]\nenv = ["PARTNER_TOKEN"]',
            "env[0]: environment variable PARTNER_TOKEN is not set",
        ),
        (
            'kind = "command"\nargv = ["true"]\nfolder = "/no/such/folder"',
            "folder: must be an existing folder (got '/no/such/folder')",
        ),
    ],
)
def test_check_names_the_program_that_cannot_run(load, tmp_path, entry, problem):
    registry = load(f"[agents.tool]\n{entry}", getenv={"PATH": "/usr/bin:/bin"}.get)
    assert [str(it) for it in registry.check()] == [f"{registry.path}: [agents.tool] {problem}"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ('kind = "comand"', "kind: must be one of llm, python, scripted, command, human, external"),
        ('kind = "command"', "argv: is required"),
        ('kind = "command"\nargv = []', "argv: must have at least 1 item"),
        ('kind = "command"\nargv = "ls -l"', "argv: must be a list"),
        ('kind = "command"\nargv = ["ls"]\nexit_codes = { 300 = "say" }', "exit_codes.300"),
        ('kind = "command"\nargv = ["ls"]\nexit_codes = { 1 = "shout" }', "exit_codes.1: must be"),
        (
            'kind = "command"\nargv = ["ls"]\nenv = ["KEY=value"]',
            "env[0]: must be the name of an environment variable",
        ),
        (
            'kind = "command"\nargv = ["ls"]\nlimits = { cpu_s = 0 }',
            "limits.cpu_s: must be greater than or equal to 1",
        ),
        ('kind = "command"\nargv = ["ls"]\nshell = true', "shell: is not a known field"),
        ('kind = "human"\nthen = "default"', "`then: default` and `default: TEXT` must be set together"),
        ('kind = "human"\ndeadline_s = -1', "deadline_s: must be greater than 0"),
    ],
)
def test_broken_agent_entry_is_named_with_its_rule(load, entry, problem):
    with pytest.raises(RegistryError) as error:
        load(f"[agents.tool]\n{entry}")
    assert f"[agents.tool] {problem}" in str(error.value)
    assert str(error.value).startswith(error.value.file)
