"""Command lines in the documentation name commands and options that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from symposia.cli.app import build_app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
#: In code only: a line of a block, or code within a sentence.
LINE = re.compile(
    r"^(?: {4}|\$ )(?:\w+=\$\()?(symposia [^#\n]*?)\)?(?:  +#.*)?$|`(symposia [^`\n]+)`", re.MULTILINE
)
COMMANDS = get_command(build_app())


def unknown(line: str) -> list[str]:
    """The words of a command line that no command has."""
    words = shlex.split(line.replace("'", ""), comments=True)[1:]
    path, command = [COMMANDS], COMMANDS
    for word in words:
        if word not in getattr(command, "commands", {}):
            break
        command = command.commands[word]
        path.append(command)
    if command is COMMANDS and words and re.match(r"[a-z]", words[0]):
        return words[:1]
    if command is COMMANDS.commands["review"]:  # `symposia review PATH`
        path.append(command.commands["files"])
    options = {name for it in path for option in it.params for name in (*option.opts, *option.secondary_opts)}
    named = [found.group() for word in words if (found := re.match(r"--?[a-z][\w-]*", word))]
    return [name for name in named if name not in options | {"-h", "--help"}]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_command_lines_exist(page: Path) -> None:
    lines = [block or code for block, code in LINE.findall(page.read_text())]
    assert {line: found for line in lines if (found := unknown(line))} == {}


def test_unknown_words_are_found() -> None:
    assert unknown("symposia shw ID") == ["shw"]
    assert unknown("symposia show ID --jsn") == ["--jsn"]
    assert unknown("symposia schedule add nightly --evry 1d") == ["--evry"]
    assert unknown("symposia review src --fail-on high") == []
