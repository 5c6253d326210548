"""Beats as processes of their own: started, killed, stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

from live import until
from scaling import patient
from symposia.workers.local.processes import end_with_parent


class LiveBeat:
    """A beat process; `environment` is its whole environment."""

    def __init__(self, name: str, folder: Path, environment: dict[str, str]) -> None:
        self.log_file = folder / f"{name}.log"
        self._output: IO[bytes] = self.log_file.open("ab")
        command = [sys.executable, "-m", "symposia.workers", "beat"]
        command += ["--loglevel=INFO", "--pidfile="]
        self.process = subprocess.Popen(
            end_with_parent(command, signal.SIGKILL),
            env=environment,
            cwd=folder,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    def wait_ready(self) -> LiveBeat:
        def ready() -> bool:
            assert self.process.poll() is None, self.log()
            return "beat: Starting..." in self.log()

        until(ready, timeout_s=40, what=f"the beat is there\n{self.log()}")
        return self

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(patient(10))

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(patient(15))
            except subprocess.TimeoutExpired:
                self.kill()
        self._output.close()
