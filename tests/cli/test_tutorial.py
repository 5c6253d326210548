"""The tutorial works as it is written, from an empty folder to services of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents.console import Command, Reader, read_blocks, read_commands
from processes.terminal import Terminal
from servers.ports import own_port

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_tutorial_works_from_top_to_bottom(small: Terminal, redis_url: str) -> None:
    page = PAGE.replace("redis://127.0.0.1:6379/0", redis_url)
    # `tests/packaging/test_wheel.py` installs the package.
    page = page.replace("$ pip install '.[all]'\n", "")
    small.settings["flower_port"] = str(own_port())
    Reader(small).follow(page)
    small.wait_until_nothing_runs()


def test_tutorial_has_no_block_that_is_not_tried() -> None:
    assert [block for block in read_blocks(PAGE) if block[0] != "console" and not block[1]] == []
    assert PAGE.count("\n```\n") == len(read_blocks(PAGE))


def test_answers_of_commands_are_compared() -> None:
    (first, second) = read_commands("$ one\na ... c\n...\nz\n$ two\n")
    assert (first.text, second) == ("one", Command("two", ""))
    assert first.is_answered_by("a b c\nmore\nz\n")
    assert not first.is_answered_by("a b c\nmore\n")
    assert not second.is_answered_by("unexpected")
