"""Commands and agents whose packages are not installed name the extra in one line, before anything starts."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from processes.terminal import Terminal
from symposia.cli.doctor import machine_checks

FLOWER = "needs the package flower: pip install 'symposia[flower]'"
BEAT = "needs the package celery-redbeat: pip install 'symposia[worker]'"
TORNADO = "needs the package tornado: pip install 'symposia[worker]'"
MODELS = "an agent that calls models needs the package pydantic-ai-slim: pip install 'symposia[worker]'"


@pytest.mark.parametrize(
    ("command", "module", "line"),
    [
        ("flower", "flower", f"symposia: Flower {FLOWER}\n"),
        ("up", "flower", f"symposia: Flower (--no-flower: none) {FLOWER}\n"),
        ("up --no-flower", "redbeat", f"symposia: a beat (--no-beat: none) {BEAT}\n"),
        ("beat", "redbeat", f"symposia: a beat {BEAT}\n"),
        ("callbacks", "tornado", f"symposia: the receiver of callbacks {TORNADO}\n"),
    ],
)
def test_command_names_the_extra(bare: Terminal, monkeypatch, command: str, module: str, line: str):
    monkeypatch.setitem(sys.modules, module, None)
    said = bare.call(*command.split())
    assert (said.code, said.err) == (4, line)


def test_doctor_names_agents_that_lack_an_extra(bare: Terminal, monkeypatch, tmp_path: Path):
    (tmp_path / "agents.toml").write_text("[agents.ann]\nkind = 'llm'\nmodel = 'openai:some'\n")
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    texts = [it["text"] for it in bare.call("doctor", "--json").json()["findings"]]
    assert any("ann" in it and MODELS in it for it in texts)


def test_doctor_reports_an_archive_without_its_packages(bare: Terminal, monkeypatch):
    bare.settings["archive"] = "true"
    monkeypatch.delitem(sys.modules, "symposia.archive.archive", raising=False)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    said = bare.call("doctor", "--json")
    assert said.code == 4
    [finding] = [it for it in said.json()["findings"] if it["text"] == "needs the package sqlalchemy"]
    assert finding["advice"] == "pip install 'symposia[archive]', or set SYMPOSIA_ARCHIVE=false"


def test_doctor_lists_roles_that_are_not_installed(bare: Terminal, monkeypatch):
    def find(name: str) -> str:
        if name == "flower":
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(machine_checks, "version", find)
    findings = bare.call("doctor", "--json").json()["findings"]
    [missing] = [it for it in findings if "not installed: flower" in it["text"]]
    assert (missing["grade"], missing["text"]) == ("ok", "not installed: flower (extras)")
    assert missing["advice"].endswith("pip install 'symposia[flower]'")
