"""Preflight checks of `command` entries on this machine."""

from __future__ import annotations

from collections.abc import Iterator

from ..preflight import FieldProblem
from .agent import GetEnv, is_program
from .entry import CommandEntry, readable_argv


def check_command_entry(entry: CommandEntry, getenv: GetEnv) -> Iterator[FieldProblem]:
    """What is missing: its folder, its program, variables."""
    if entry.folder is not None and not entry.folder.is_dir():
        yield FieldProblem("folder", f"must be an existing folder (got {str(entry.folder)!r})")
    elif not is_program(entry, getenv):
        yield FieldProblem(
            "argv[0]",
            f"must be a program on the PATH, or the path of a program (got {readable_argv(entry.argv[:1])!r})",
        )
    for at, name in enumerate(entry.env):
        if getenv(name) is None:
            yield FieldProblem(f"env[{at}]", f"environment variable {name} is not set")
