"""The pages about deployment name files, units and settings that exist."""

from __future__ import annotations

import re
import shlex

import pytest

from distributions import ROOT
from documents.lines import read_lines
from symposia.config.described import describe_settings
from symposia.config.settings import load_settings

PAGES = sorted((ROOT / "docs").glob("deploying*.md"))
SETTINGS = {name for it in describe_settings() for name in it.variables}


@pytest.mark.parametrize("path", PAGES, ids=lambda it: it.name)
def test_named_settings_and_files_exist(path) -> None:
    text = path.read_text()
    assert set(re.findall(r"SYMPOSIA_[A-Z_]+", text)) <= SETTINGS
    for word in (word for line in read_lines(path) for word in shlex.split(line.text)):
        if word.startswith(("deploy/", "examples/")):
            assert list(ROOT.glob(word)), word


def test_units_of_the_pages_exist() -> None:
    text = "".join(it.read_text() for it in PAGES)
    named = set(re.findall(r"symposia-(?:worker|beat|flower|callbacks|sweep|archive)\b", text))
    assert named
    assert named <= {it.stem for it in (ROOT / "deploy/systemd").glob("*.service")}


def test_printed_settings_are_accepted() -> None:
    """Blocks such as `SYMPOSIA_REDIS_URL=redis+sentinel://...`."""
    blocks = re.findall(
        r"^```\w*\n(SYMPOSIA_.*?)^```", "".join(it.read_text() for it in PAGES), re.DOTALL | re.MULTILINE
    )
    assert len(blocks) > 4
    for block in blocks:
        lines = dict(re.findall(r"^SYMPOSIA_(\w+)=(.*)$", block, re.MULTILINE))
        load_settings(**{name.lower(): value for name, value in lines.items()})
