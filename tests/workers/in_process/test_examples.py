"""The programs of the documentation run as they are shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = re.compile(
    r"^```python\n(.*?)^```(?:\n\nIt prints:\n\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE
)
PROGRAMS = [
    (page, *found)
    for page in ("docs/local.md", "docs/attachments.md")
    for found in PROGRAM.findall((ROOT / page).read_text())
]


@pytest.mark.parametrize(("page", "program", "printed"), PROGRAMS)
def test_programs_of_the_page_run(page: str, program: str, printed: str, capsys: pytest.CaptureFixture[str]):
    exec(compile(program, page, "exec"), {})  # noqa: S102 - our own documentation
    if printed:
        assert capsys.readouterr().out == printed


def test_the_first_program_of_the_readme_runs(capsys: pytest.CaptureFixture[str]):
    program, _ = PROGRAM.findall((ROOT / "README.md").read_text())[0]
    exec(compile(program, "README.md", "exec"), {})  # noqa: S102 - our own documentation
    said = ["ada: The Lantern Room?", "ben: It has a lamp in every window.", "ada: AGREED."]
    assert capsys.readouterr().out.splitlines() == said
