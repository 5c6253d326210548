"""Check of the code that an agents file names, in a process of its own: see `code_probe.py`."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from tempfile import TemporaryFile
from typing import IO

from pydantic import ValidationError

from ...agents.registry.registry import Registry
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
