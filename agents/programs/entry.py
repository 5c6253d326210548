"""`[agents.NAME] kind = "command"`: a program that is given the turn and prints what it has to say.

    [agents.linter]
    kind = "command"
    argv = ["my-linter", "--strict", "-"]
    stdin = "text"                        # the newest message (default), "turn" (JSON), or "nothing"
    exit_codes = { 1 = "say" }            # it found something: that is its message
    timeout_s = 20
    env = ["MY_LINTER_TOKEN"]             # names of variables it may see
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
    """What an exit code means."""

    #: What it printed is the message; nothing printed: it passes.
    SAY = "say"
    PASS = "pass"  # noqa: S105 - a pass of the floor
    #: It failed, and may do better next time.
    RETRY = "retry"
    #: It failed, and would fail again.
    FAIL = "fail"


class Stdin(StrEnum):
    """What a program reads on its standard input."""

    #: The turn's context, as JSON.
    TURN = "turn"
    #: The content of the newest message.
    TEXT = "text"
    NOTHING = "nothing"


#: What codes mean that an entry does not name; 75 is `EX_TEMPFAIL` of sysexits.h.
USUAL_EXITS = {0: ExitMeaning.SAY, 75: ExitMeaning.RETRY}

_Argument = Annotated[str, StringConstraints(min_length=1, max_length=10_000, pattern=r"^[^\x00]*$")]
_ExitCode = Annotated[int, Field(ge=0, le=255)]


class ProgramLimits(EntryBase):
    """What a program and each of its children may use; the kernel keeps to it."""

    #: Seconds of CPU.
    cpu_s: int | None = Field(default=None, ge=1, le=86_400)
    #: Address space.
    memory_mb: int | None = Field(default=None, ge=16, le=1_048_576)
    #: Size of a file it writes.
    file_mb: int | None = Field(default=None, ge=1, le=1_048_576)
    open_files: int | None = Field(default=None, ge=16, le=1_048_576)


class CommandEntry(EntryBase):
    """A program."""

    kind: Literal["command"]
    #: Program and arguments.
    argv: tuple[_Argument, ...] = Field(min_length=1, max_length=1_000)
    stdin: Stdin = Stdin.TURN
    #: Exit code -> what it means; besides, 0 says, 75 is tried again, and others fail.
    exit_codes: dict[_ExitCode, ExitMeaning] = Field(default_factory=dict)
    #: Seconds it may take, within the turn's deadline; then its whole process group is killed.
    timeout_s: float | None = Field(default=None, gt=0, le=86_400)
    #: Bytes it may print.
    max_output_bytes: int = Field(default=1_048_576, ge=1, le=67_108_864)
    #: Names of the variables it sees besides PATH, the locale and the time zone.
    env: tuple[VariableName, ...] = Field(default=(), max_length=100)
    #: Where it runs. None: in a folder of its own, which is its HOME and is gone afterwards.
    folder: Path | None = None
    limits: ProgramLimits = ProgramLimits()
    window: Window = 100


def readable_argv(argv: Sequence[str]) -> str:
    """Return a command line for people: no placeholders, and no paths of this machine in their place."""
    return shlex.join(it.replace("{python}", "python").replace("{turn}", "TURN.json") for it in argv)
