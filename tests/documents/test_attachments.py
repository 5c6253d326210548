"""Attachments: the program of docs/attachments.md, and the model that takes images."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents.pages import Page
from documents.programs import run_here
from symposia.agents.registry.registry import Registry

PAGE = Page("docs/attachments.md")
PROGRAM = PAGE.take("python", "run_local_sync")
PRINTED = PAGE.take("text", "sales.csv")
MODEL = PAGE.take("toml", "[models.vision]")
#: An agent of the model.
AGENT = '[agents.seer]\nkind = "llm"\nmodel = "vision"\n'


def test_program_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    run_here(PROGRAM)
    assert capsys.readouterr().out == PRINTED


def test_model_declares_what_it_takes(tmp_path: Path) -> None:
    path = tmp_path / "agents.toml"
    path.write_text(MODEL + AGENT)
    assert Registry.load(path).knows("seer")
