"""The agents file: its rules, and the checks of what its agents need."""

from __future__ import annotations

import re

import pytest

from symposia.agents.registry.registry import Registry
from symposia.models.errors import RegistryError

MODEL = "[models.m]\nmodel = 'm'\nbase_url = 'http://127.0.0.1/v1'\n"
AGENT = MODEL + "[agents.x]\nkind = 'llm'\nmodel = 'm'\n"


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
         "must not have 'timeout'; use request_timeout_s of the model"),
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
        ("[people.ann]\nemail = 'ann'", "people.ann", "email", "must be an email address such as"),
        ("[people.ann]\nchat = 'https://hooks.example.com/secret'", "people.ann", "chat",
         "must be the name of an environment variable"),
        ("[people.ann]\nescalate_after = '1h'", "people.ann", "",
         "`escalate_after` and `escalate_to` must be set together"),
        ("[people.ann]\nescalate_after = '1h'\nescalate_to = 'bob'", "people.ann", "escalate_to",
         "must be another name of the table `people` (got 'bob')"),
        ("[models.m]\nmodel = 'gpt'", "models.m", "", "must name a provider (`provider:model`) or have a base_url"),
        ("[models.m]\nmodel = 'gpt'\nbase_url = 'localhost:80'", "models.m", "base_url", "must be a URL such as"),
        ("[models.m]\nmodel = 'gpt'\nbase_url = 'http://u:hunter2@h/v1'", "models.m", "base_url",
         "must not contain credentials"),
        ("[models.m]\nmodel = 'gpt'\nbase_url = 'http://h/v1'\napi_key_env = 'sk-secret'", "models.m",
         "api_key_env", "must be the name of an environment variable, not the key itself (got ***)"),
        ("[agents.x]\nkind = 'comand'", "agents.x", "kind", "must be one of llm, python, scripted, command, human, external"),
        ("[agents.x]\nkind = 'command'", "agents.x", "argv", "is required"),
        ("[agents.x]\nkind = 'command'\nargv = []", "agents.x", "argv", "must have at least 1 item"),
        ("[agents.x]\nkind = 'command'\nargv = 'ls -l'", "agents.x", "argv", "must be a list"),
        ("[agents.x]\nkind = 'command'\nargv = ['ls']\nexit_codes = {300 = 'say'}", "agents.x", "exit_codes.300.[key]", "must be "),
        ("[agents.x]\nkind = 'command'\nargv = ['ls']\nexit_codes = {1 = 'shout'}", "agents.x", "exit_codes.1", "must be "),
        ("[agents.x]\nkind = 'command'\nargv = ['ls']\nenv = ['KEY=value']", "agents.x", "env[0]",
         "must be the name of an environment variable"),
        ("[agents.x]\nkind = 'command'\nargv = ['ls']\nlimits = {cpu_s = 0}", "agents.x", "limits.cpu_s",
         "must be greater than or equal to 1"),
        ("[agents.x]\nkind = 'command'\nargv = ['ls']\nshell = true", "agents.x", "shell", "is not a known field"),
        ("[agents.x]\nkind = 'human'\nthen = 'default'", "agents.x", "",
         "`then: default` and `default: TEXT` must be set together"),
        ("[agents.x]\nkind = 'human'\ndeadline_s = -1", "agents.x", "deadline_s", "must be greater than 0"),
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


def test_check_finds_missing_imports_and_variables(load, agents):
    lost = '[agents.lost]\nkind = "python"\ncallable = "nowhere:f"\n'
    registry = load(agents.replace("anthropic:", "nowhere:") + lost)
    assert [str(problem) for problem in registry.check()] == [
        f"{registry.path}: [agents.claude] model: Unknown provider: nowhere",
        f"{registry.path}: [agents.lost] callable: ImportError: nowhere:f: ModuleNotFoundError: No module named 'nowhere'",
        f"{registry.path}: [models.house] api_key_env: environment variable HOUSE_KEY is not set",
    ]


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


def test_check_reports_a_shared_problem_once(load, agents):
    again = '[agents.second]\nkind = "llm"\nmodel = "house"\n'
    assert len([p for p in load(agents + again).check() if p.entry == "models.house"]) == 1


def test_check_finds_nothing_if_nothing_is_missing(load, agents, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    registry = load(agents.replace("anthropic:", "openai:"), getenv={"HOUSE_KEY": "k"}.get)
    assert registry.check() == []


def test_only_variables_that_the_file_names_are_read(load, agents):
    asked = []
    load(agents, getenv=asked.append).check()
    assert asked == ["HOUSE_KEY"]
