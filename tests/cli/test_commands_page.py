"""docs/commands.md is what the help of the commands says."""

from __future__ import annotations

import runpy
from pathlib import Path

from symposia.cli.app import PANELS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "commands.md").read_text()


def test_page_is_what_would_be_generated() -> None:
    generated = runpy.run_path(str(ROOT / ".ci" / "commands_page.py"))["render_page"]()
    assert generated == PAGE, "run `make commands-page`"


def test_page_has_every_command_under_its_panel() -> None:
    found: dict[str, set[str]] = {}
    for line in PAGE.splitlines():
        if line.startswith("## "):
            panel = line.removeprefix("## ")
        elif line.startswith("### symposia "):
            found.setdefault(panel, set()).add(line.split()[2])
    expected = [
        (panel, {name for it in modules.values() for name in it}) for panel, modules in PANELS.items()
    ]
    assert list(found.items()) == expected
