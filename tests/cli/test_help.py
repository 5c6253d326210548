"""Every command explains itself, at once."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from symposia.cli.app import PANELS, build_app

APP = build_app()
COMMANDS = [command.name or command.callback.__name__ for command in APP.registered_commands]


def test_command_list_is_complete():
    assert [
        *("init", "examples"),
        *("demo", "run", "submit", "continue", "fork", "list", "search", "show", "watch", "graph", "export"),
        *("attachments", "replay", "compare"),
        "activate",
        *(
            "suspend",
            "resume",
            "retry",
            "stop",
            "cancel",
            "add",
            "remove",
            "instruct",
            "post",
            "inbox",
            "reply",
            "tenant",
        ),
        "eval",
        *("restore", "prune", "lint", "dialogue"),
        *("up", "worker", "beat", "flower", "callbacks", "serve", "mcp", "config", "repair", "doctor"),
    ] == COMMANDS


def command_paths(command, path=()):
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from command_paths(inner, (*path, name))


PATHS = list(command_paths(get_command(APP)))
#: Those with commands of their own.
GROUPS = {path[:-1] for path in PATHS}


@pytest.mark.parametrize("path", [it for it in PATHS if it not in GROUPS], ids=" ".join)
def test_every_command_has_an_example(path):
    said = CliRunner().invoke(APP, [*path, "--help"])
    assert said.exit_code == 0
    assert f"symposia {' '.join(path)}" in " ".join(said.output.split("Example: ")[1].split())


@pytest.mark.long
@pytest.mark.parametrize("columns", ["80", "200"])
def test_help_is_as_wide_as_the_terminal(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    for path in PATHS:
        lines = CliRunner().invoke(APP, [*path, "--help"]).output.splitlines()
        assert max(map(len, lines)) == int(columns), path
        assert broken_early(lines) == [], path


def broken_early(lines):
    """Lines of a help text's paragraphs after which the next word would have had room."""
    text = [it.strip() for it in itertools.takewhile(lambda it: "╭" not in it, lines)]
    pairs = [(line, after) for line, after in itertools.pairwise(text) if line and after]
    return [line for line, after in pairs if len(f" {line} {after.split()[0]}") < 80]


def test_square_brackets_are_kept_in_help_texts():
    said = " ".join(CliRunner().invoke(APP, ["callbacks", "--help"]).output.split())
    assert "`callback_url` in [webhooks] of the agents file" in said


def test_command_line_gets_the_commands_of_one_module():
    table = [commands for modules in PANELS.values() for commands in modules.values()]
    for commands in table:
        assert set(get_command(build_app([commands[-1], "--json"])).commands) == set(commands)
    assert set(get_command(APP).commands) == {it for commands in table for it in commands}


@pytest.mark.parametrize("arguments", [["--help"], ["--debug", "--help"], ["serch"]])
def test_other_command_lines_get_every_command(arguments):
    assert get_command(build_app(arguments)).commands.keys() == get_command(APP).commands.keys()


def test_the_exit_codes_are_in_the_help():
    said = " ".join(CliRunner().invoke(APP, ["--help"]).output.split())
    assert "0 success, 1 the session was cancelled or aborted, review or lint found problems" in said
    assert (
        "replay or compare found a difference, an evaluation is below its threshold, or a change of many"
        in said
    )
    assert "2 bad input or usage, 3 not found" in said


def test_help_loads_nothing_heavy():
    code = """
import sys
from symposia.cli import main
try:
    main(["--help"])
except SystemExit as end:
    assert not end.code
heavy = {"celery", "kombu", "redis", "pydantic", "pydantic_ai", "sqlmodel"} & sys.modules.keys()
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert CliRunner().invoke(APP, ["--version"]).output == f"symposia {version('symposia')}\n"
