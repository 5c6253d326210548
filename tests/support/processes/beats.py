"""Beats as processes of their own: started, killed, stopped."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import IO

from live import until
from processes.fork_server import start_module
from scaling import patient


class LiveBeat:
    """A beat process; `environment` is its whole environment, `code` a folder with the code of another version."""

    def __init__(
        self, name: str, folder: Path, environment: dict[str, str], *, code: Path | None = None
    ) -> None:
        self.log_file = folder / f"{name}.log"
        self._output: IO[bytes] = self.log_file.open("ab")
        arguments = ["beat", "--loglevel=INFO", "--pidfile="]
        self.process = start_module(
            "symposia.workers", arguments, env=environment, cwd=folder, output=self._output, code=code
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
