"""Panels: the shipped ones, those of a file, and the errors of a file."""

from __future__ import annotations

import pytest

from symposia.agents.kinds.command import CommandEntry
from symposia.agents.registry.agents_file import AgentsFile
from symposia.agents.registry.registry import Registry
from symposia.models.errors import InvalidInput
from symposia.reviews.panels import find_panel, load_panels, missing_tools, panel_sha
from symposia.reviews.values.panels import Panel

#: Programs of the panel `code`.
TOOLS = ("ruff", "bandit", "shellcheck", "oxlint", "revive", "hadolint", "sqlfluff", "gitleaks")

OWN = """
[mine]
mode = "broadcast"
purpose = "Say what you think."
files = ["*.md"]
[[mine.seats]]
name = "ann"
agent = "echo"
"""


@pytest.fixture
def panels_file(tmp_path):
    def write(text):
        path = tmp_path / "panels.toml"
        path.write_text(text)
        return path

    return write


def test_three_panels_are_shipped():
    assert sorted(load_panels()) == ["code", "document", "pair"]


@pytest.mark.parametrize("model", [None, "local"])
@pytest.mark.parametrize("name", ["code", "document", "pair"])
def test_shipped_panels_use_registered_agents(name, model):
    agents = find_panel(name).with_model(model).agents
    assert set(agents) <= set(Registry().names())
    assert ("local" in agents) is (model is not None)


def test_missing_model_is_substituted():
    assert find_panel("code").with_model(None).agents == ("judge", *TOOLS)
    assert find_panel("pair").with_model(None).agents == ("inspector", "judge")


def test_panels_file_adds_and_replaces_panels(panels_file, monkeypatch):
    path = panels_file(OWN + OWN.replace("mine", "code"))
    assert sorted(load_panels(path)) == ["code", "document", "mine", "pair"]
    assert find_panel("code", path).agents == ("echo",)
    monkeypatch.chdir(path.parent)
    assert find_panel("mine").files == ("*.md",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[mine", "must be valid TOML"),
        ("mine = 3", r"\[mine\]: must be a table"),
        (OWN.replace("broadcast", "monologue"), r"\[mine\]\.mode"),
        (OWN.replace('agent = "echo"', ""), "must have `agent`, `model = true`, or both"),
        (OWN + '[[mine.seats]]\nname = "ann"\nagent = "noop"\n', "must have `seats` with different names"),
        (OWN.replace("files", "stop = {max_rounds = 0}\nfiles"), "max_rounds"),
        (OWN.replace("files", "hosts"), "hosts"),
        (OWN + '[[mine.tools]]\nagent = "x"\n', r"tools\[0\]\.files"),
        (OWN + '[[mine.tools]]\nagent = "ann"\nfiles = ["*"]\n', "`tools` with different agents"),
    ],
)
def test_invalid_panel_names_file_panel_and_field(panels_file, text, said):
    path = panels_file(text)
    with pytest.raises(InvalidInput, match=said) as caught:
        load_panels(path)
    assert str(path) in str(caught.value)


def test_unknown_panel_error_suggests_similar_names():
    with pytest.raises(InvalidInput, match="must be a panel: code"):
        find_panel("cod")


@pytest.mark.parametrize("name", ["code", "document", "pair"])
@pytest.mark.parametrize(
    "path", [".env", "a/.env.local", "tls/server.key", "tls/ca.pem", "home/.ssh/id_rsa", ".netrc"]
)
def test_files_with_secrets_are_not_sent_to_a_model(name, path):
    assert not find_panel(name).with_model("local").reviews(path)


def test_panel_reviews_only_its_file_patterns():
    code = find_panel("code")
    assert code.reviews("a/b.py")
    assert not code.reviews("py/notes.md")
    assert find_panel("pair").reviews("anything")


def test_code_panel_reviews_any_text_with_a_model():
    alone, helped = find_panel("code").with_model(None), find_panel("code").with_model("local")
    for path, by_program in (("a.py", True), ("run.sh", True), ("main.go", True), ("Makefile", False)):
        assert (alone.reviews(path), helped.reviews(path)) == (by_program, True)
    assert not any(helped.reviews(it) for it in ("poetry.lock", "package-lock.json", "a.min.js", "README.md"))
    assert [it.agent for it in helped.tools_for("run.sh")] == ["shellcheck", "gitleaks"]


def test_tool_that_is_not_installed_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    code = find_panel("code")
    assert missing_tools(code) == TOOLS[2:]
    assert missing_tools(find_panel("document")) == ("codespell",)
    assert "shellcheck" not in code.without_tools(missing_tools(code)).agents
    assert not code.without_tools(["shellcheck", "gitleaks"]).with_model(None).reviews("run.sh")


def test_hash_depends_on_the_content_of_the_panel():
    code = find_panel("code").with_model(None)
    assert panel_sha(code) == panel_sha(code.model_copy(update={"parallel": 9, "files": ()}))
    assert len({panel_sha(code), panel_sha(find_panel("code").with_model("local"))}) == 2
    other = code.model_copy(update={"purpose": "Find nothing."})
    assert panel_sha(other) != panel_sha(code)


def test_panel_without_reviewers_is_refused():
    panel = Panel.model_validate(
        {"name": "p", "mode": "swarm", "purpose": "x", "seats": [{"name": "a", "model": True}]}
    )
    with pytest.raises(InvalidInput, match="must be an agent"):
        panel.with_model(None)


def identities(*argv):
    return Registry(AgentsFile(agents={"ann": CommandEntry(kind="command", argv=argv)})).program_identities()


def test_panel_changes_with_the_entry_of_a_program(panels_file):
    panel = find_panel("mine", panels_file(OWN.replace("echo", "ann")))
    keys = {panel_sha(panel, {}, identities("lint", option)) for option in ("-a", "-b", "-a")}
    assert len(keys) == 2
    assert panel_sha(panel) not in keys


def test_panel_changes_with_the_file_of_a_program(panels_file, tmp_path):
    program = tmp_path / "lint"
    panel = find_panel("mine", panels_file(OWN.replace("echo", "ann")))
    keys = set()
    for text in ("one", "other"):
        program.write_text(text)
        keys.add(panel_sha(panel, {}, identities(str(program), "{file}")))
    assert len(keys) == 2


def test_panel_does_not_change_with_other_programs(panels_file):
    panel = find_panel("mine", panels_file(OWN))
    assert panel_sha(panel, {}, identities("lint")) == panel_sha(panel)
