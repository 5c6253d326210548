"""`[agents.NAME] kind = "command"`: a program that reads the turn and prints its message.

    [agents.linter]
    kind = "command"
    argv = ["my-linter", "--strict", "-"]
    stdin = "text"                        # the newest message (default), "turn" (JSON), or "nothing"
    exit_codes = { 1 = "say" }            # findings: the output is the message
    timeout_s = 20
    env = ["MY_LINTER_TOKEN"]             # names of variables that it gets
    limits = { cpu_s = 10, memory_mb = 512 }

In `argv`, `{turn}` becomes the path of a file with the turn as JSON, `{python}` the interpreter
that runs the worker. There is no shell.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ..entry_base import EntryBase, VariableName, Window


class ExitMeaning(StrEnum):
    """Meanings of an exit code."""

    #: The output is the message; without output, a pass.
    SAY = "say"
    PASS = "pass"  # noqa: S105 - a pass of the floor
    #: Failure that may be retried.
    RETRY = "retry"
    #: Permanent failure.
    FAIL = "fail"


class Stdin(StrEnum):
    """Contents of a program's standard input."""

    #: The turn's context, as JSON.
    TURN = "turn"
    #: The content of the newest message.
    TEXT = "text"
    NOTHING = "nothing"


#: Meanings of exit codes that the entry does not list; 75 is `EX_TEMPFAIL` of sysexits.h.
USUAL_EXITS = {0: ExitMeaning.SAY, 75: ExitMeaning.RETRY}

_Argument = Annotated[str, StringConstraints(min_length=1, max_length=10_000, pattern=r"^[^\x00]*$")]
_ExitCode = Annotated[int, Field(ge=0, le=255)]


class ProgramLimits(EntryBase):
    """Resource limits of a program and of each of its children, enforced by the kernel."""

    #: Maximum seconds of CPU time.
    cpu_s: int | None = Field(default=None, ge=1, le=86_400)
    #: Maximum MiB of address space.
    memory_mb: int | None = Field(default=None, ge=16, le=1_048_576)
    #: Maximum MiB of a file that it writes.
    file_mb: int | None = Field(default=None, ge=1, le=1_048_576)
    open_files: int | None = Field(default=None, ge=16, le=1_048_576)


class CommandEntry(EntryBase):
    """The entry of a program."""

    kind: Literal["command"]
    #: Program and arguments.
    argv: tuple[_Argument, ...] = Field(min_length=1, max_length=1_000)
    stdin: Stdin = Stdin.TURN
    #: Exit code -> meaning. Default: 0 is `say`, 75 is `retry`, all others are `fail`.
    exit_codes: dict[_ExitCode, ExitMeaning] = Field(default_factory=dict)
    #: Maximum seconds, within the turn's deadline; then the whole process group is killed.
    timeout_s: float | None = Field(default=None, gt=0, le=86_400)
    #: Maximum bytes of output.
    max_output_bytes: int = Field(default=1_048_576, ge=1, le=67_108_864)
    #: Names of the variables that it gets besides PATH, the locale and the time zone.
    env: tuple[VariableName, ...] = Field(default=(), max_length=100)
    #: Working folder. None: a temporary folder, which is also HOME and is removed after the turn.
    folder: Path | None = None
    limits: ProgramLimits = ProgramLimits()
    window: Window = 100


def readable_argv(argv: Sequence[str]) -> str:
    """Return a command line for people, with neither placeholders nor paths of this machine."""
    return shlex.join(it.replace("{python}", "python").replace("{turn}", "TURN.json") for it in argv)
