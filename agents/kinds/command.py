"""`[agents.NAME] kind = "command"`: a program that reads the turn and prints its message.

    [agents.linter]
    kind = "command"
    argv = ["my-linter", "--strict", "-"]
    stdin = "text"                        # the newest message; "turn" (JSON, default), or "nothing"
    exit_codes = { 1 = "say" }            # findings: the output is the message
    timeout_s = 20
    env = ["MY_LINTER_TOKEN"]             # names of variables that it gets
    limits = { cpu_s = 10, memory_mb = 512 }

In `argv`, `{turn}` becomes the path of a file with the turn as JSON, `{attachments}` that of a folder with the files of
its messages, `{python}` the interpreter
that runs the worker. There is no shell. Each turn runs a program in its own process group, which ends with
the turn.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import resource
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from subprocess import SubprocessError
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ...models.errors import AgentError, AgentFailed, AgentTimeout, AttachmentUnavailable, BadOutcome
from ...models.sessions.limits import SpendingBounds
from ...models.sessions.options import AgentBinding
from ...models.text.durations import Duration, WholeDuration
from ...models.turns.turn import OUTPUTS_FIELD, REVIEW_PARAMETER, TurnContext, TurnOutcome
from ..entry import NO_SPENDING, FieldProblem, GuardedEntry, KindEnv
from ..execution.failures import scrub_text
from ..programs.process import Program, ProgramResult, run_program
from ..tables import EntryBase, VariableName, Window

#: Placeholder in the arguments of a program.
ATTACHMENTS_PLACE = "{attachments}"


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
    cpu_s: WholeDuration | None = Field(default=None, ge=1, le=86_400)
    #: Maximum MiB of address space.
    memory_mb: int | None = Field(default=None, ge=16, le=1_048_576)
    #: Maximum MiB of a file that it writes.
    file_mb: int | None = Field(default=None, ge=1, le=1_048_576)
    open_files: int | None = Field(default=None, ge=16, le=1_048_576)


class CommandEntry(GuardedEntry):
    """The entry of a program."""

    kind: Literal["command"]
    #: Program and arguments.
    argv: tuple[_Argument, ...] = Field(min_length=1, max_length=1_000)
    stdin: Stdin = Stdin.TURN
    #: Exit code -> meaning. Default: 0 is `say`, 75 is `retry`, all others are `fail`.
    exit_codes: dict[_ExitCode, ExitMeaning] = Field(default_factory=dict)
    #: Maximum seconds, within the turn's deadline; then the whole process group is killed.
    timeout_s: Duration | None = Field(default=None, gt=0, le=86_400)
    #: Maximum bytes of output.
    max_output_bytes: int = Field(default=1_048_576, ge=1, le=67_108_864)
    #: Names of the variables that it gets besides PATH, the locale and the time zone.
    env: tuple[VariableName, ...] = Field(default=(), max_length=100)
    #: Working folder. None: a temporary folder, which is also HOME and is removed after the turn.
    folder: Path | None = None
    limits: ProgramLimits = ProgramLimits()
    window: Window = 100

    def create(self, _binding: AgentBinding, env: KindEnv) -> CommandAgent:
        """As in AgentKind."""
        return CommandAgent(self, getenv=env.read_variable)

    def describe(self) -> str:
        """As in AgentKind: a command line with neither placeholders nor paths of this machine."""
        return _readable(self.argv)

    def check(self, env: KindEnv) -> Iterator[FieldProblem]:
        """As in AgentKind."""
        if self.folder is not None and not self.folder.is_dir():
            yield FieldProblem("folder", f"must be an existing folder (got {str(self.folder)!r})")
        elif not is_program(self, env.read_variable):
            shown = _readable(self.argv[:1])
            yield FieldProblem(
                "argv[0]", f"must be a program on the PATH, or the path of a program (got {shown!r})"
            )
        for at, name in enumerate(self.env):
            if env.read_variable(name) is None:
                yield FieldProblem(f"env[{at}]", f"environment variable {name} is not set")

    def spending(self, _binding: AgentBinding, _env: KindEnv) -> SpendingBounds:
        """As in AgentKind."""
        return NO_SPENDING

    def identity(self) -> str:
        """As in AgentKind."""
        return program_identity(self)


def program_identity(entry: CommandEntry) -> str:
    """Return a hash of the entry and of the files that its arguments name, by their sizes and times of change.

    The programs are not run: many have no option that prints a version, and some take seconds.
    """
    files = [description for argument in entry.argv if (description := _describe_file(argument))]
    content = [entry.model_dump(mode="json"), files]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _readable(argv: Sequence[str]) -> str:
    names = {"{python}": "python", "{turn}": "TURN.json", ATTACHMENTS_PLACE: "ATTACHMENTS"}
    return shlex.join(_fill_placeholders(argument, names) for argument in argv)


GetEnv = Callable[[str], str | None]


#: Environment variables that every program gets, if the worker has them.
USUAL_VARIABLES = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


#: Signals of an exceeded resource limit; a retry would exceed it again.
_LIMIT_SIGNALS = frozenset({signal.SIGXCPU, signal.SIGXFSZ})


#: Minimum characters of a secret; shorter values of variables are switches or numbers.
_SHORTEST_SECRET = 6


class BatchedCommandEntry(CommandEntry):
    """The entry of a program that has reviewed the files of a batch at once; its last argument is the agent's name."""

    def create(self, _binding: AgentBinding, env: KindEnv) -> CommandAgent:
        """As in AgentKind."""
        return BatchedCommandAgent(self, getenv=env.read_variable)


class CommandAgent:
    """The agent of a program."""

    def __init__(self, entry: CommandEntry, *, getenv: GetEnv) -> None:
        self._entry = entry
        self._getenv = getenv

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Run the program; its output is the message.

        Raises:
            AgentFailed: The program cannot be started, or its exit code means failure.
            AgentTimeout: The program took longer than its entry allows.
            BadOutcome: The program printed more than its entry allows.
        """
        if missing := missing_variable(self._entry, self._getenv):
            raise AgentFailed(f"environment variable {missing} is not set", retryable=False)
        if not is_program(self._entry, self._getenv):
            raise AgentFailed(f"{self._name} cannot be run: program not found", retryable=False)
        with TemporaryDirectory(prefix="symposia-", ignore_cleanup_errors=True) as folder:
            try:
                async with asyncio.timeout(self._entry.timeout_s):
                    printed = await self._run(turn, Path(folder))
            except TimeoutError:
                raise AgentTimeout(f"{self._name} did not end within {self._entry.timeout_s:g} s") from None
        return self._outcome(printed)

    @property
    def _name(self) -> str:
        return scrub_text(Path(self._entry.argv[0]).name)

    async def _run(self, turn: TurnContext, folder: Path) -> ProgramResult:
        program = Program(
            argv=await _argv(self._entry, turn, folder),
            folder=self._entry.folder or folder,
            environment={**_environment(self._entry, self._getenv), "HOME": str(folder)},
            limits=_limits(self._entry.limits),
            limit_bytes=self._entry.max_output_bytes,
        )
        try:
            return await run_program(program, self._input(turn))
        except (OSError, SubprocessError) as error:
            raise AgentFailed(
                f"{self._name} cannot be run: {scrub_text(str(error))}", retryable=False
            ) from None

    def _input(self, turn: TurnContext) -> bytes:
        match self._entry.stdin:
            case Stdin.TURN:
                return turn.model_dump_json().encode()
            case Stdin.TEXT:
                return turn.messages[-1].content.encode() if turn.messages else b""
            case Stdin.NOTHING:
                return b""

    def _outcome(self, printed: ProgramResult) -> TurnOutcome:
        if printed.over_limit:
            raise BadOutcome(f"{self._name} printed more than {self._entry.max_output_bytes} bytes")
        text = printed.out.decode(errors="replace").strip()
        match self._entry.exit_codes.get(printed.code, USUAL_EXITS.get(printed.code, ExitMeaning.FAIL)):
            case ExitMeaning.SAY if text:
                return TurnOutcome.say(text)
            case ExitMeaning.SAY | ExitMeaning.PASS:
                return TurnOutcome.skip_turn()
            case meaning:
                raise self._failure(printed, meaning)

    def _failure(self, printed: ProgramResult, meaning: ExitMeaning) -> AgentError:
        last = printed.err.decode(errors="replace").strip().rpartition("\n")[2]
        detail = f": {scrub_text(last, secrets=self._secrets())}" if last else ""
        if printed.code >= 0:
            return AgentFailed(
                f"{self._name} failed with exit code {printed.code}{detail}",
                retryable=meaning is ExitMeaning.RETRY,
            )
        number = -printed.code
        # Only the first and the last real-time signal have a name.
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        # A program that ignores SIGXCPU is killed by SIGKILL at its hard CPU limit, and would be again.
        is_hopeless = number in _LIMIT_SIGNALS or (
            number == signal.SIGKILL and self._entry.limits.cpu_s is not None
        )
        return AgentFailed(f"{self._name} was killed by {name}{detail}", retryable=not is_hopeless)

    def _secrets(self) -> list[str]:
        """Return the lines of the passed variables' values: the stored error output must not contain them."""
        lines = (line for name in self._entry.env for line in (self._getenv(name) or "").splitlines())
        return [line for line in lines if len(line) >= _SHORTEST_SECRET]


def missing_variable(entry: CommandEntry, getenv: GetEnv) -> str | None:
    """Return the first variable of the entry that is not set; None: all are set."""
    return next((name for name in entry.env if getenv(name) is None), None)


def is_program(entry: CommandEntry, getenv: GetEnv) -> bool:
    """Return whether the program of the entry exists."""
    name = _fill_placeholders(entry.argv[0], {"{python}": sys.executable})
    if entry.folder is not None and os.sep in name:
        name = str(entry.folder / name)
    return shutil.which(name, path="" if os.sep in name else getenv("PATH")) is not None


async def _argv(entry: CommandEntry, turn: TurnContext, folder: Path) -> list[str]:
    places = {"{python}": sys.executable}
    if any("{turn}" in argument for argument in entry.argv):
        path = folder / "turn.json"
        path.write_text(turn.model_dump_json(), encoding="utf-8")
        places["{turn}"] = str(path)
    if any(ATTACHMENTS_PLACE in argument for argument in entry.argv):
        places[ATTACHMENTS_PLACE] = str(await write_attachments(turn, folder))
    return [_fill_placeholders(argument, places) for argument in entry.argv]


def _fill_placeholders(argument: str, places: Mapping[str, str]) -> str:
    for placeholder, value in places.items():
        argument = argument.replace(placeholder, value)
    return argument


def _environment(entry: CommandEntry, getenv: GetEnv) -> dict[str, str]:
    seen = {name: getenv(name) for name in (*USUAL_VARIABLES, *entry.env)}
    return {"NO_COLOR": "1", **{name: value for name, value in seen.items() if value is not None}}


def _limits(limits: ProgramLimits) -> dict[int, int]:
    wanted = {
        resource.RLIMIT_CPU: limits.cpu_s,
        resource.RLIMIT_AS: limits.memory_mb and limits.memory_mb * 1_048_576,
        resource.RLIMIT_FSIZE: limits.file_mb and limits.file_mb * 1_048_576,
        resource.RLIMIT_NOFILE: limits.open_files,
    }
    return {kind: value for kind, value in wanted.items() if value is not None}


async def write_attachments(turn: TurnContext, folder: Path) -> Path:
    """Write the attachments that a turn sees into a folder, each by its digest; missing ones are left out."""
    target = folder / "attachments"
    target.mkdir()
    for attachment in turn.attachments:
        try:
            data = await attachment.load_async()
        except AttachmentUnavailable:
            continue
        (target / attachment.sha256).write_bytes(data)
    return target


def _describe_file(argument: str) -> str:
    """Return size and time of the file that an argument names, by its path or as a command; empty: none."""
    if argument.startswith(("-", "{")):  # an option or a placeholder: no search of the whole PATH
        return ""
    path = argument if Path(argument).is_absolute() else shutil.which(argument)
    if path is None or not Path(path).is_file():
        return ""
    status = Path(path).stat()
    return f"{status.st_size} {status.st_mtime_ns}"


class BatchedCommandAgent(CommandAgent):
    """The agent of a program whose output for the reviewed file may be in the parameters of the session."""

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Return that output; if there is none, run the program as `CommandAgent` does."""
        review = turn.parameters.get(REVIEW_PARAMETER)
        outputs = review.get(OUTPUTS_FIELD) if isinstance(review, dict) else None
        text = outputs.get(self._entry.argv[-1]) if isinstance(outputs, dict) else None
        return TurnOutcome.say(text) if isinstance(text, str) else await super().speak(turn)
