"""Import of the code that an agents file names: its check in a process of its own (`code_probe.py`), and its reload.

`symposia up --reload` watches the code, and starts the workers again when it changes.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from pydantic import ValidationError

from ...agents.registry.registry import Registry
from ...agents.registry.source import Stamp, stamp_of
from ...client.processes import end_process, end_with_parent
from ...config.settings import Settings, child_environment
from ...models.sessions.known_agents import KnownAgents
from .code_probe import CodeReport

log = logging.getLogger(__name__)

#: Maximum seconds that importing the code may take.
_PROBE_TIMEOUT_S = 60.0
#: Seconds between two looks at a running probe.
_POLL_S = 0.05
_PROGRAM = ("-m", "symposia.workers.local.code_probe")


class CodeProbe:
    """A process that imports the code of agents.

    Args:
        environment: Environment variables of the workers.
        finds_working_folder: Whether code of the working folder can be imported, as by workers that start there.
    """

    def __init__(self, environment: Mapping[str, str], *, finds_working_folder: bool = True) -> None:
        python = (sys.executable,) if finds_working_folder else (sys.executable, "-P")
        self._output: IO[bytes] = TemporaryFile()  # noqa: SIM115 - closed by `poll` or `close`; a pipe could fill up
        self._deadline = time.monotonic() + _PROBE_TIMEOUT_S
        self._process = subprocess.Popen(
            end_with_parent((*python, *_PROGRAM), signal.SIGKILL),
            # A compiled file is reused for a source of the same second and size, which may be another one.
            env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )

    def poll(self) -> CodeReport | None:
        """Return the report; None while the process runs."""
        if self._process.poll() is None:
            if time.monotonic() < self._deadline:
                return None
            self.close()
            return _failed(f"importing the code took more than {_PROBE_TIMEOUT_S:g} s")
        with self._output as output:
            output.seek(0)
            try:
                return CodeReport.model_validate_json(output.read())
            except ValidationError:
                why = f"importing the code ended the process with exit code {self._process.returncode}"
                return _failed(why)

    def wait(self) -> CodeReport:
        """Return the report once the process has ended."""
        while (report := self.poll()) is None:
            time.sleep(_POLL_S)
        return report

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            end_process(self._process, timeout_s=0)
        self._output.close()


def _failed(problem: str) -> CodeReport:
    return CodeReport(problems=(problem,), code_problems=(problem,))


def check_code(environment: Mapping[str, str], *, finds_working_folder: bool = True) -> CodeReport:
    """Import the code of agents in a process of its own, and return the report.

    Raises:
        RegistryError: Workers would refuse the agents file.
    """
    probe = CodeProbe(environment, finds_working_folder=finds_working_folder)
    try:
        report = probe.wait()
    finally:
        probe.close()
    if (error := report.refusal) is not None:
        raise error
    return report


def registered_names(
    registry: Registry, settings: Settings, *, finds_working_folder: bool = True
) -> KnownAgents:
    """Return the names of the agents of a registry that was loaded without its modules, with those of the modules.

    Logs a warning for each module that cannot be imported.

    Raises:
        RegistryError: Workers would refuse the agents file.
    """
    if not registry.modules:
        return registry.known()
    report = check_code(child_environment(settings), finds_working_folder=finds_working_folder)
    for problem in report.problems:
        log.warning("problem in the agents file, its agents are unknown: %s", problem)
    return KnownAgents(
        (*registry.names(), *report.names), people=registry.known().people, unpriced=registry.known().unpriced
    )


@contextmanager
def importing_as_workers() -> Iterator[None]:
    """Add the working folder to the import path, like `python -m ...`, which runs the workers.

    What the code prints goes to standard error: standard output is that of the command.
    """
    before = list(sys.path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.path[:] = before


#: Seconds between two looks at the files.
_LOOK_EVERY_S = 1.0


class CodeReloader:
    """Watcher of the code of agents.

    Changed code is first imported in a process of its own: with a new error in it, the workers keep the old code.

    Args:
        agents_file: The agents file, which may not exist.
        code: The code as it is now; an error in it prevents no reload.
        environment: Environment variables of the workers.
        reload: Starts the workers again.
        say: Callback for one line about each change.
    """

    def __init__(
        self,
        agents_file: Path,
        code: CodeReport,
        *,
        environment: Mapping[str, str],
        reload: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        self._environment = environment
        self._reload = reload
        self._say = say
        self._stamps: dict[Path, Stamp] = {path: stamp_of(path) for path in (agents_file, *code.files)}
        self._agents_file = agents_file
        #: Errors in the code of the workers.
        self._known_problems = frozenset(code.code_problems)
        self._probe: CodeProbe | None = None
        #: Names of the files whose change is being checked.
        self._changed: list[str] = []
        self._next_look = 0.0

    def check_files(self) -> None:
        """Reload changed code; return at once if the last look is recent."""
        if self._probe is not None:
            if (report := self._probe.poll()) is not None:
                self._probe = None
                self._finish(report)
        elif time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _LOOK_EVERY_S
            stamps = {path: stamp_of(path) for path in self._stamps}
            self._changed += [path.name for path, stamp in stamps.items() if stamp != self._stamps[path]]
            if self._changed:
                self._stamps = stamps
                self._probe = CodeProbe(self._environment)

    def close(self) -> None:
        """End a running check."""
        if self._probe is not None:
            self._probe.close()

    def _finish(self, report: CodeReport) -> None:
        names = ", ".join(dict.fromkeys(self._changed))
        problems = [problem for problem in report.code_problems if problem not in self._known_problems]
        problems += [str(refusal) for refusal in [report.refusal] if refusal is not None]
        # After an error, the files that were not reached are watched further.
        has_errors = problems or report.code_problems
        stamps = self._stamps if has_errors else {self._agents_file: self._stamps[self._agents_file]}
        read = {path: self._stamps.get(path, stamp_of(path)) for path in report.files}
        self._stamps, self._changed = {**stamps, **read}, []
        if problems:
            self._say(f"{names} changed, not reloaded, workers keep the old code: {'; '.join(problems)}")
        else:
            self._known_problems = frozenset(report.code_problems)
            self._say(f"{names} changed, reloading the workers after the turns in flight")
            self._reload()
