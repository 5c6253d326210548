"""Entries of kind session: a wrong file gets one clear line."""

from __future__ import annotations

import pytest

from symposia.agents.kinds.session import SessionAgent, SessionFiles
from symposia.agents.registry.registry import Registry
from symposia.jobs.session_file import read_session_document
from symposia.models.errors import RegistryError
from symposia.models.sessions.options import AgentBinding


@pytest.fixture
def load(tmp_path):
    """Loads an agents file beside session files: the names of the agents of each."""

    def load(sessions, more="", max_depth=4):
        registry = more
        for name, agents in sessions.items():
            registry += f'[agents.{name}]\nkind = "session"\nfile = "{name}.yaml"\n'
            rows = "".join(f"  - {{participant_id: p{i}, agent: {it}}}\n" for i, it in enumerate(agents))
            text = f"title: {name}\npurpose: see\nmode: round_robin\nparticipants:\n{rows}"
            (tmp_path / f"{name}.yaml").write_text(text)
        (tmp_path / "agents.toml").write_text(registry)
        return Registry.load(
            tmp_path / "agents.toml", session_files=SessionFiles(read_session_document, max_depth)
        )

    return load


def test_session_is_an_agent(load):
    registry = load({"panel": ["echo", "noop"]})
    agent = registry.get_agent(AgentBinding(agent="panel"))
    assert isinstance(agent, SessionAgent)
    assert agent.document["title"] == "panel"
    assert registry.check() == []


@pytest.mark.parametrize(
    ("sessions", "circle"),
    [
        ({"a": ["a"]}, "a -> a"),
        ({"a": ["b"], "b": ["echo", "a"]}, "a -> b -> a"),
        ({"c": ["a"], "a": ["b"], "b": ["a"]}, "a -> b -> a"),
    ],
)
def test_sessions_must_not_contain_themselves(load, sessions, circle):
    with pytest.raises(RegistryError, match=rf"file: must not contain itself: {circle}$"):
        load(sessions)


def test_circle_through_a_tool_is_refused(load):
    caller = '[agents.editor]\nkind = "llm"\nmodel = "local"\ntools = ["panel"]\n'
    with pytest.raises(RegistryError, match="must not contain itself: panel -> editor -> panel"):
        load({"panel": ["editor"]}, caller)


def test_sessions_that_are_too_deep_are_refused(load):
    deep = {"a": ["b"], "b": ["c"], "c": ["echo"]}
    load(deep, max_depth=3)
    with pytest.raises(RegistryError, match=r"nested too deep.*MAX_SUBSESSION_DEPTH: a -> b -> c"):
        load(deep, max_depth=2)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (None, r"x\.yaml: cannot be read"),
        ("title: x", r"x\.yaml"),
        ("[", "is not YAML"),
        ("title: x\npurpose: y\nmode: pair\nparticipants: [{participant_id: a}]\ntenant: acme\n", "tenant"),
    ],
)
def test_wrong_session_file_is_named(tmp_path, text, rule):
    if text is not None:
        (tmp_path / "x.yaml").write_text(text)
    (tmp_path / "agents.toml").write_text('[agents.x]\nkind = "session"\nfile = "x.yaml"\n')
    with pytest.raises(RegistryError, match=rf"\[agents\.x\] file: .*{rule}") as caught:
        Registry.load(tmp_path / "agents.toml", session_files=SessionFiles(read_session_document))
    assert "\n" not in str(caught.value)


def test_check_names_agents_that_are_missing(load):
    (problem,) = load({"panel": ["echo", "nobody"]}).check()
    assert (problem.entry, problem.field) == ("agents.panel", "file")
    assert "nobody" in problem.rule


def test_needed_agents_include_those_of_sessions(load):
    registry = load({"a": ["b", "echo"], "b": ["noop"]})
    assert registry.needed_by(["a"]) == {"a", "b", "echo", "noop"}
