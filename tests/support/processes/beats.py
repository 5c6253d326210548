"""Beats as processes of their own: started, killed, stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

from live import until
from processes.fork_server import ForkedProcess, fork_server
from scaling import patient
from symposia.workers.local.processes import end_with_parent


class LiveBeat:
    """A beat process; `environment` is its whole environment, `code` a folder with the code of another version."""

    def __init__(
        self, name: str, folder: Path, environment: dict[str, str], *, code: Path | None = None
    ) -> None:
        self.log_file = folder / f"{name}.log"
        self._output: IO[bytes] = self.log_file.open("ab")
        arguments = ["beat", "--loglevel=INFO", "--pidfile="]
        self.process: subprocess.Popen[bytes] | ForkedProcess
        if sys.platform == "linux":
            self.process = fork_server(code).start(
                "symposia.workers", arguments, env=environment, cwd=folder, output=self._output
            )
        else:
            self.process = subprocess.Popen(
                end_with_parent([sys.executable, "-m", "symposia.workers", *arguments], signal.SIGKILL),
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
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(patient(10))

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(patient(15))
            except subprocess.TimeoutExpired:
                self.kill()
        self._output.close()
