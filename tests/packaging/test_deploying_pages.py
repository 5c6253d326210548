"""The pages about deployment name commands, files and settings that exist."""

from __future__ import annotations

import re
import shlex

import pytest

from distributions import ROOT
from documents.commands import check_command
from symposia.config.described import describe_settings

PAGES = sorted((ROOT / "docs").glob("deploying*.md"))
SETTINGS = {name for it in describe_settings() for name in it.variables}


def commands(text: str) -> list[list[str]]:
    """The commands of the console blocks, without comments."""
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return [shlex.split(line.removeprefix("$ "), comments=True) for line in lines]


@pytest.mark.parametrize("path", PAGES, ids=lambda it: it.name)
def test_commands_of_symposia_exist(path) -> None:
    for words in commands(path.read_text()):
        if words[0] == "symposia":
            check_command(words)


@pytest.mark.parametrize("path", PAGES, ids=lambda it: it.name)
def test_named_settings_and_files_exist(path) -> None:
    text = path.read_text()
    assert set(re.findall(r"SYMPOSIA_[A-Z_]+", text)) <= SETTINGS
    words = [word for line in commands(text) for word in line]
    for word in words:
        if word.startswith(("deploy/", "examples/")):
            assert list(ROOT.glob(word)), word


def test_units_of_the_pages_exist() -> None:
    text = "".join(it.read_text() for it in PAGES)
    named = set(re.findall(r"symposia-(?:worker|beat|flower|callbacks|sweep|archive)\b", text))
    assert named
    assert named <= {it.stem for it in (ROOT / "deploy/systemd").glob("*.service")}
