"""Clients of any version, as processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scaling import patient


class ClientRefused(Exception):
    """The client raised an error of Symposia, which is the message."""


class ClientProcess:
    """A client with some version of the code; `environment` is its whole environment."""

    def __init__(self, name: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.log_file = folder / f"{name}.log"
        self._output = self.log_file.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "upgrades.client_program"],
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            text=True,
        )

    def ask(self, verb: str, **arguments: Any) -> Any:
        """Send a request of `upgrades.client_program`; return its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([verb, arguments]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, self.log_file.read_text()
        answer = json.loads(line)
        if "error" in answer:
            raise ClientRefused(answer["error"])
        return answer["answer"]

    def close(self) -> None:
        """End it; what it follows may go on."""
        self.process.kill()
        self.process.wait(patient(10))
        for pipe in (self.process.stdin, self.process.stdout, self._output):
            if pipe is not None:
                pipe.close()
