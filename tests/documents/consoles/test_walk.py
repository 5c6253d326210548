"""A walk along a page finds lines that do not work."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents.lines import read_lines
from documents.walk import Walk
from processes.terminal import Terminal

PAGE = """
## One

```console
$ echo a b   # a comment
a ...
$ true
```

```toml
symposia = "$ no command"
```

**Two.** Words.

    symposia list    # sessions
    no command

```sh
ls
```
"""


def test_lines_of_all_kinds_are_read(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    lines = read_lines(tmp_path / "page.md")
    assert [(it.section, it.text) for it in lines] == [
        ("One", "echo a b"),
        ("One", "true"),
        ("Two", "symposia list"),
        ("Two", "ls"),
    ]
    assert lines[0].answer == "a ...\n"


def test_line_that_fails_is_found(tmp_path: Path) -> None:
    """There is no `.env.example`."""
    with pytest.raises(AssertionError, match="No such file"):
        Walk(Terminal(tmp_path, {})).follow("containers.md")


def test_unused_hook_is_found(tmp_path: Path) -> None:
    (tmp_path / ".env.example").write_text("")
    with pytest.raises(AssertionError, match="no line begins with"):
        Walk(Terminal(tmp_path, {}), codes={"symposia": 1}).follow("containers.md")


def test_other_answer_is_found(tmp_path: Path) -> None:
    (tmp_path / "decision.dialogue.md").write_text("# Doors\n")
    with pytest.raises(AssertionError, match="and not"):
        Walk(Terminal(tmp_path, {})).follow("dialogue.md", "Checking")
