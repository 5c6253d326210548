"""Agents that modules mark with `@symposia.agent`: their registration, and the refusal of wrong ones."""

from __future__ import annotations

import asyncio
import sys
from functools import partial

import pytest

import symposia
from symposia.agents.registry.registry import Registry
from symposia.models.errors import InvalidInput, RegistryError, UnknownAgent
from symposia.models.sessions.options import AgentBinding

MODULE = """
import symposia

@symposia.agent("ada", description="says what turn it is", window=7)
def ada(turn):
    return f"turn {turn.turn_number}"

@symposia.agent("ben")
def ben(prompt: str) -> str:
    return prompt[-7:]

@symposia.agent("cyd")
class Cyd:
    def __call__(self, turn):
        return "I am Cyd."

@symposia.agent("dan")
class Dan:
    async def speak(self, turn):
        return symposia.TurnOutcome.say("I am Dan.")
"""
LIBRARY = """
import symposia
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

symposia.agent("eve")(Agent(TestModel(custom_output_text="A door.")))
"""


@pytest.fixture
def load(load):
    return partial(load, import_modules=True)


def say(registry, name, turn):
    outcome = asyncio.run(registry.get_agent(AgentBinding(agent=name)).speak(turn()))
    return outcome.messages[0].content


def test_marked_agents_are_known_and_speak(load, write_module, turn):
    write_module("team_one", MODULE)
    registry = load('modules = ["team_one"]')
    assert {"ada", "ben", "cyd", "dan"} <= set(registry.names())
    assert [say(registry, name, turn) for name in ("ada", "ben", "cyd", "dan")] == [
        "turn 1",
        "</turn>",
        "I am Cyd.",
        "I am Dan.",
    ]
    assert registry.check() == []


def test_marked_object_of_a_library_speaks(load, write_module, turn):
    write_module("team_two", LIBRARY)
    assert say(load('modules = ["team_two"]'), "eve", turn) == "A door."


def test_description_and_window_of_a_mark_count(load, write_module):
    write_module("team_one", MODULE)
    registry = load('modules = ["team_one"]')
    described = {it.name: (it.kind, it.what, it.built_in) for it in registry.describe()}
    assert described["ada"] == ("object", "says what turn it is", False)
    assert described["ben"] == ("object", "team_one:ben", False)
    assert registry.window(AgentBinding(agent="ada")) == 7


def test_marked_agents_of_inner_modules_are_included(load, write_module):
    write_module("house.__init__", "from . import team, other")
    write_module("house.team", 'import symposia\nsymposia.agent("ada")(print)')
    write_module("house.other", 'import symposia\nsymposia.agent("ben")(print)')
    assert {"ada", "ben"} <= set(load('modules = ["house"]').names())
    assert set(load('modules = ["house.team"]').names()) & {"ada", "ben"} == {"ada"}


def test_marked_agents_of_other_modules_are_unknown(load, write_module):
    write_module("helpers", 'import symposia\nsymposia.agent("secret")(print)')
    write_module("team_one", f"import helpers\n{MODULE}")
    registry = load('modules = ["team_one"]')
    with pytest.raises(UnknownAgent):
        registry.get_agent(AgentBinding(agent="secret"))


def test_modules_are_imported_only_on_request(load, write_module):
    write_module("team_one", "raise SystemExit('imported')")
    assert not load('modules = ["team_one"]', import_modules=False).knows("ada")
    assert "team_one" not in sys.modules


@pytest.mark.parametrize(
    ("first", "second", "places"),
    [
        ("team_two", "", "in module team_one, line 4, and in module team_two, line 2"),
        ("", '[agents.ada]\nkind = "human"', "in {file}, and in module team_one, line 4"),
    ],
)
def test_name_given_twice_names_both_places(load, write_module, tmp_path, first, second, places):
    write_module("team_one", MODULE)
    write_module("team_two", 'import symposia\nsymposia.agent("ada")(print)')
    names = ", ".join(f'"{name}"' for name in ("team_one", first) if name)
    file = tmp_path / "agents.toml"
    with pytest.raises(RegistryError) as refused:
        load(f"modules = [{names}]\n{second}")
    assert (
        str(refused.value)
        == f"{file}: [agents.ada] must not be given twice: {places.replace('{file}', str(file))}"
    )


def test_name_given_twice_in_one_module_is_refused(load, write_module):
    write_module("team_two", 'import symposia\nsymposia.agent("ada")(print)\nsymposia.agent("ada")(repr)')
    with pytest.raises(RegistryError, match="in module team_two, line 2, and in module team_two, line 3"):
        load('modules = ["team_two"]')


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("import nowhere", "cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("def (", "cannot be imported: SyntaxError: invalid syntax (team_two.py, line 1)"),
        ('import symposia\nsymposia.agent("eve")(5)', "agents.eve: must be a callable, or an agent of"),
        (
            'import symposia\n@symposia.agent("eve")\nclass Eve:\n    def __init__(self, name): ...',
            "agents.eve: must be a class that can be created without arguments: TypeError",
        ),
        ('import symposia\nsymposia.agent(" ")(print)', "cannot be imported: InvalidInput: name: must not be blank"),
    ],
)  # fmt: skip
def test_broken_module_is_one_problem_and_others_work(load, write_module, tmp_path, text, cause):
    write_module("team_one", MODULE)
    write_module("team_two", text)
    registry = load('modules = ["team_two", "team_one"]')
    (problem,) = registry.check()
    assert str(problem).startswith(
        f"{tmp_path / 'agents.toml'}: modules[0]: team_two{': ' * ('agents.' in cause)}"
    )
    assert cause in str(problem)
    assert "\n" not in str(problem)
    assert registry.knows("ada")


def test_repaired_module_can_be_loaded(load, write_module):
    path = write_module("team_two", 'import symposia\nsymposia.agent("ada")(print)\nimport nowhere')
    assert not load('modules = ["team_two"]').knows("ada")
    path.write_text('import symposia\n\nsymposia.agent("ada")(print)')
    registry = load('modules = ["team_two"]')
    assert (registry.knows("ada"), registry.check()) == (True, [])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('modules = ["a b"]', "modules[0]: must be the name of a module, such as my_project.agents (got 'a b')"),
        ('modules = ["../x"]', "modules[0]: must be the name of a module, such as my_project.agents (got '../x')"),
        ('modules = "team"', "modules: must be a list (got 'team')"),
    ],
)  # fmt: skip
def test_wrong_module_name_is_refused(load, tmp_path, text, rule):
    with pytest.raises(RegistryError) as refused:
        load(text)
    assert str(refused.value) == f"{tmp_path / 'agents.toml'}: {rule}"


@pytest.mark.parametrize(
    ("name", "window", "rule"),
    [
        ("", 1, r"name: must not be blank"),
        ("x" * 201, 1, r"name: must have at most 200 items"),
        (print, 1, r'name: must be text: write @symposia.agent\("NAME"\)'),
        ("ada", -1, r"window: must be .* 0"),
    ],
)
def test_wrong_mark_is_refused_at_the_decorator(name, window, rule):
    with pytest.raises(InvalidInput, match=rule):
        symposia.agent(name, window=window)


def test_marked_object_is_returned_unchanged():
    def ada(turn):
        return ""

    assert symposia.agent("ada")(ada) is ada


GUARDS = """
modules = ["guarded_agents"]

[guards.short]
kind = "length"
max_chars = 9
then = "skip"
"""


def write_guarded(tmp_path, monkeypatch, guards):
    sys.modules.pop("guarded_agents", None)
    (tmp_path / "guarded_agents.py").write_text(
        f"import symposia\n\ndef say(turn):\n    return 'hello'\n\n"
        f"symposia.agent('ada', guards={guards!r})(say)\nsymposia.agent('ben')(say)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


def test_mark_names_guards_of_the_file(load, tmp_path, monkeypatch):
    write_guarded(tmp_path, monkeypatch, ["short"])
    registry = load(GUARDS)
    assert (list(registry.guards_of("ada")), list(registry.guards_of("ben"))) == (["short"], [])
    assert registry.checks_answers("ada")


def test_unknown_guard_of_a_mark_is_refused(load, tmp_path, monkeypatch):
    write_guarded(tmp_path, monkeypatch, ["shrt"])
    with pytest.raises(
        RegistryError, match=r"\[agents.ada\] guards\[0\]: must be a \[guards\] table \(short; got 'shrt'\)"
    ):
        load(GUARDS)


def test_guard_of_a_given_object_needs_the_file():
    marked = symposia.agent("ada", guards=("short",))(lambda _: "hello")
    with pytest.raises(
        RegistryError, match=r"^no agents file: \[agents.ada\] guards\[0\]: .*none exist; got 'short'"
    ):
        Registry(objects={"ada": marked})


def test_guards_of_a_mark_must_be_a_list():
    with pytest.raises(InvalidInput, match=r"^guards: must be"):
        symposia.agent("ada", guards="short")
