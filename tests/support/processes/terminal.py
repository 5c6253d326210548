"""The command line as a person uses it: the real `symposia` program, what it prints and how it exits.

Most commands run in forks of a process that has imported the program's code: they start ten times as fast.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Self
from uuid import uuid4

import psutil
import pytest

from live import SUPPORT, until
from processes.fork_server import ForkedProcess, fork_server
from processes.gone import command_of, stands_still
from scaling import patient
from symposia.cli.app import build_app
from symposia.cli.common.exit_codes import run_command_line

PROGRAM = Path(sys.executable).with_name("symposia")
MARK = "SYMPOSIA_TEST_TERMINAL"


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    #: Standard error without the line about the server in use, which has a test of its own.
    err: str
    using: str = ""

    @classmethod
    def split(cls, code: int, out: str, err: str) -> Self:
        using = "".join(it for it in err.splitlines(keepends=True) if it.startswith("using "))
        return cls(code, out, err.replace(using, "", 1), using)

    def json(self) -> Any:
        assert self.code in (0, 1, 4), self
        return json.loads(self.out)


class Running:
    """A running command."""

    def __init__(self, process: subprocess.Popen[bytes] | ForkedProcess, out: Path, err: Path) -> None:
        self.process = process
        self._out = out
        self._err = err

    @property
    def out(self) -> str:
        return self._out.read_text(errors="replace")

    @property
    def err(self) -> str:
        return self._err.read_text(errors="replace")

    def until(self, text: str, *, timeout_s: float = 30) -> Running:
        def said() -> bool:
            has_ended = self.process.poll() is not None  # before it is read, which is all that it said then
            is_there = text in self.out or text in self.err
            assert is_there or not has_ended, (self.out, self.err)
            return is_there

        until(said, timeout_s=timeout_s, what=f"{text!r} in {self.out}\n{self.err}")
        return self

    def interrupt(self) -> Running:
        """Ctrl-C: the terminal sends it to the whole process group."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self

    @contextmanager
    def held(self) -> Iterator[None]:
        """Freeze the process (without its children) within the context, so that its output does not change."""
        self.process.send_signal(signal.SIGSTOP)
        until(lambda: stands_still(self.process.pid), what="it stands still")
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def ended(self, *, timeout_s: float = 30) -> Said:
        try:
            return Said.split(self.process.wait(patient(timeout_s)), self.out, self.err)
        except subprocess.TimeoutExpired:
            self._tell_where_it_hangs()
            raise AssertionError(f"not ended within {timeout_s} s: {self.out}\n{self.err}") from None

    def _tell_where_it_hangs(self) -> None:
        """Ends it and its children, each with the stacks of its threads on its standard error."""
        for process in [*psutil.Process(self.process.pid).children(recursive=True), self.process]:
            with suppress(psutil.Error):
                process.send_signal(signal.SIGABRT)
                process.wait(patient(5))


@dataclass
class Terminal:
    """Runs commands with given settings and tracks all their processes."""

    folder: Path
    settings: dict[str, str]
    #: Folders whose code its programs find first.
    path: list[Path] = field(default_factory=list)
    _mark: str = field(default_factory=lambda: str(uuid4()))
    _started: list[Running] = field(default_factory=list)
    #: The sessions of processes that are forks.
    _forked: set[int] = field(default_factory=set)

    @property
    def environment(self) -> dict[str, str]:
        chosen = {f"SYMPOSIA_{name.upper()}": value for name, value in self.settings.items()}
        more = {"TMPDIR": str(self.temporary), "PYTHONPATH": self._python_path, MARK: self._mark}
        more["PYTHONFAULTHANDLER"] = "1"  # where it hangs, if it does: see `Running.ended`
        return {**os.environ, **chosen, **more}

    @property
    def _python_path(self) -> str:
        return os.pathsep.join(map(str, (*self.path, SUPPORT)))

    @property
    def temporary(self) -> Path:
        """The folder of temporary files of its commands."""
        path = self.folder / "tmp"
        path.mkdir(exist_ok=True)
        return path

    def run(
        self, *arguments: str, stdin: str = "", timeout_s: float = 50, as_installed: bool = False
    ) -> Said:
        """Runs a command to its end; `as_installed`: see `start`."""
        done = self.complete(
            arguments, self.environment, stdin=stdin, timeout_s=timeout_s, as_installed=as_installed
        )
        return Said.split(done.returncode, done.stdout, done.stderr)

    def complete(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        stdin: str,
        timeout_s: float,
        as_installed: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command with these variables to its end, with this text on its standard input."""
        reads, writes = os.pipe()
        feeder = threading.Thread(target=_feed, args=(writes, stdin))
        with TemporaryFile() as out, TemporaryFile() as err:
            try:
                descriptors = (reads, out.fileno(), err.fileno())
                process = self._spawn(
                    [PROGRAM, *arguments], descriptors, environment, as_installed=as_installed
                )
            finally:
                os.close(reads)
                feeder.start()
            try:
                code = process.wait(patient(timeout_s))
            finally:
                process.kill()
                process.wait()
                feeder.join()
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read().decode(), err.read().decode())

    def call(self, *arguments: str) -> Said:
        """The same as `run`, in this process: many times faster."""
        out, err = StringIO(), StringIO()
        with ExitStack() as stack:
            environment = stack.enter_context(pytest.MonkeyPatch.context())
            for name, value in self.environment.items():
                environment.setenv(name, value)
            stack.enter_context(chdir(self.folder))
            stack.enter_context(redirect_stdout(out))
            stack.enter_context(redirect_stderr(err))
            code = run_command_line(build_app(arguments), arguments)
        return Said.split(code, out.getvalue(), err.getvalue())

    def start(
        self,
        *arguments: str,
        inside: tuple[str, ...] = (),
        stdin: int = subprocess.DEVNULL,
        as_installed: bool = False,
        **environment: str,
    ) -> Running:
        """Starts a command.

        `inside`: the program that runs it, such as `unshare` with its options; `as_installed`: not as a fork, so that
        all of its start is that of a user.
        """
        number = len(self._started)
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        with out.open("wb") as to_out, err.open("wb") as to_err, Path(os.devnull).open("rb") as nothing:
            process = self._spawn(
                [*inside, PROGRAM, *arguments],
                (
                    nothing.fileno() if stdin == subprocess.DEVNULL else stdin,
                    to_out.fileno(),
                    to_err.fileno(),
                ),
                {**self.environment, **environment},
                as_installed=as_installed,
            )
        running = Running(process, out, err)
        self._started.append(running)
        return running

    def _spawn(
        self,
        command: Sequence[str | Path],
        descriptors: tuple[int, int, int],
        environment: Mapping[str, str],
        *,
        as_installed: bool = False,
    ) -> subprocess.Popen[bytes] | ForkedProcess:
        """Start a process in a session of its own; `descriptors` are its standard input and outputs."""
        # The fork server has imported the code of this project, and nothing that `path` replaces.
        if sys.platform != "linux" or as_installed or self.path or command[0] != PROGRAM:
            stdin, stdout, stderr = descriptors
            return subprocess.Popen(
                command,
                env=environment,
                cwd=self.folder,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        fork = fork_server().start_script(
            PROGRAM, map(str, command[1:]), descriptors=descriptors, env=environment, cwd=self.folder
        )
        self._forked.add(fork.pid)
        return fork

    def processes(self) -> list[psutil.Process]:
        """Everything that was started here and runs, orphans included."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def wait_until_speaks(self, session: str, name: str) -> None:
        """Waits until a turn of `name` is under way: the turn before it may have ended long before it begins."""
        until(lambda: f"{name} (speaking)" in self.call("show", session).out, what=f"{name} speaks")

    def wait_until_nothing_runs(self, *, timeout_s: float = 15) -> None:
        until(
            lambda: not self.processes(), timeout_s=timeout_s, what=f"nothing runs: {list(self._described())}"
        )

    def wait_until_something_runs(self, *, count: int) -> None:
        until(lambda: len(self.processes()) >= count, what=f"{count} processes")

    def close(self) -> None:
        left = self.processes()
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        for running in self._started:
            running.process.wait(patient(10))
        psutil.wait_procs(left, timeout=patient(5))

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            # The server overwrites its environment with its title, but works in its folder. Forks have the
            # environment of the fork server.
            marked = (
                process.environ().get(MARK) == self._mark
                or self.folder in Path(process.cwd()).parents
                or os.getsid(process.pid) in self._forked
            )
            return marked and process.status() != psutil.STATUS_ZOMBIE
        except (psutil.Error, ProcessLookupError):
            return False

    def _described(self) -> Iterator[str]:
        for process in self.processes():
            yield f"{process.pid}: {' '.join(command_of(process))}"


def _feed(descriptor: int, text: str) -> None:
    """Write a text for a process that need not read it."""
    with suppress(BrokenPipeError), open(descriptor, "w", encoding="utf-8") as pipe:
        pipe.write(text)
