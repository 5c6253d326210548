"""Services that a supervisor runs: embedded server, local model and child processes.

Commands of worker, beat and Flower.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ...agents.local_model.server import LocalModelServer, find_local_model
from ...client.building.connection import find_embedded_server as find_server
from ...client.embedded import EmbeddedServer
from ...client.processes import end_with_parent
from ..logs import redact_line
from .fork_server import ForkedProcess, ForkServer
from .supervisor import ShutdownFlag

#: Lines of a program's output that are kept to report why it ended.
_KEPT_LINES = 40
_POLL_S = 0.1
_PROGRAM = (sys.executable, "-m", "symposia.workers")
_Process = subprocess.Popen[str] | ForkedProcess


class ServerService:
    """The embedded server: started here, or found running and then not stopped."""

    name = "server"

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server

    def start(self) -> None:
        """Start the server, or find the running one. Raises EmbeddedServerError."""
        self._server.start()

    def exit_reason(self) -> str | None:
        """Return why it does not run; None if it runs."""
        if self._server.pid is not None:
            return _exit_of(self._server.pid)
        return None if find_server(self._server.data_dir) else "does not answer"

    def stop(self, shutdown_flag: ShutdownFlag) -> None:
        """Stop it, if it was started here."""
        self._server.stop(timeout_s=1.0 if shutdown_flag.is_set() else 10.0)


class LocalModelService:
    """The local model: started here, or found running and then not stopped."""

    name = "local model"

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._model: LocalModelServer | None = None

    def start(self) -> None:
        """Start the local model, or find the running one. Raises LocalModelError."""
        if self._model is not None:
            self._model.stop()
        self._model = None
        if find_local_model(self._data_dir) is None:
            self._model = LocalModelServer(self._data_dir)
            self._model.start()

    def exit_reason(self) -> str | None:
        """Return why it does not run; None if it runs."""
        if self._model is not None and self._model.pid is not None:
            return _exit_of(self._model.pid)
        return None if find_local_model(self._data_dir) else "does not answer"

    def stop(self, _shutdown: ShutdownFlag) -> None:
        """Stop it, if it was started here."""
        if self._model is not None:
            self._model.stop()


class ProcessService:
    """Child process that ends with this process, for any reason (Linux).

    Args:
        name: Name in messages.
        command: Program and arguments. They must not contain a secret: every user can read them.
        environment: Environment variables.
        heard: Callback for each line of output, called in a separate thread; None: the output goes to that of
            this process.
        stop_timeout_s: Maximum seconds from the request to stop until it is killed; None: no limit.
        folder: Working folder; None: that of this process.
        urgent_signal: Signal for an immediate shutdown.
        fork_server: Starts the process as a fork, which shares memory; None: it is executed.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        heard: Callable[[str], None] | None = None,
        stop_timeout_s: float | None = None,
        folder: Path | None = None,
        urgent_signal: signal.Signals = signal.SIGKILL,
        fork_server: ForkServer | None = None,
    ) -> None:
        self.name = name
        #: Exit code of the last process that has ended since the last start; negative: number of its signal.
        self.exit_code: int | None = None
        self._folder = folder
        self._command = command
        self._environment = environment
        self._on_output = heard
        self._stop_timeout_s = stop_timeout_s
        self._kill_at: float | None = None
        self._urgent_signal = urgent_signal
        self._is_urgent = False
        self._fork_server = fork_server
        self._process: _Process | None = None
        self._listener: threading.Thread | None = None
        self._last: deque[str] = deque(maxlen=_KEPT_LINES)

    def start(self) -> None:
        """Start the process."""
        self._close()
        self.exit_code = None
        self._process = self._fork() or self._execute()
        if self._on_output is not None:
            self._listener = threading.Thread(
                target=self._listen, args=(self._process, self._on_output), daemon=True
            )
            self._listener.start()

    def _fork(self) -> ForkedProcess | None:
        if self._fork_server is None or self._folder is not None or self._on_output is None:
            return None
        return self._fork_server.start(self._command, self._environment)

    def _execute(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            end_with_parent(self._command, signal.SIGKILL),
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=None if self._on_output is None else subprocess.PIPE,
            stderr=None if self._on_output is None else subprocess.STDOUT,
            text=True,
            errors="replace",
            # Ctrl-C signals the whole process group, but this child must end only when `stop` is called.
            process_group=0,
        )

    def exit_reason(self) -> str | None:
        """Return why it does not run, with its last line of output; None if it runs."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return None
        self.exit_code = code
        self._drain_output()
        last = next((line for line in reversed(self._last) if line.strip()), "")
        return _described(code) + (f": {last.strip()}" if last else "")

    def stop(self, shutdown_flag: ShutdownFlag) -> None:
        """Terminate it and wait; send the urgent signal when `shutdown_flag` is set, kill it if it is late."""
        stop_together([self], shutdown_flag)

    def send_signal(self, number: int) -> None:
        """Send it a signal if it runs."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def request_stop(self) -> None:
        """Terminate it without waiting."""
        self._is_urgent = False
        self._kill_at = None if self._stop_timeout_s is None else time.monotonic() + self._stop_timeout_s
        self.send_signal(signal.SIGTERM)

    def is_stopping(self, shutdown_flag: ShutdownFlag) -> bool:
        """Return whether it still runs after `request_stop`; send the next signal if that is due."""
        if self._process is None:
            return False
        if (code := self._process.poll()) is not None:
            self.exit_code = code
            self._close()
            return False
        if self._kill_at is not None and time.monotonic() > self._kill_at:
            self._kill_group()
        elif shutdown_flag.is_set() and not self._is_urgent:
            self._is_urgent = True
            if self._urgent_signal is signal.SIGKILL:
                self._kill_group()
            else:
                self.send_signal(self._urgent_signal)
        return True

    def _kill_group(self) -> None:
        """Kill the process group: pool processes would wait for their dead parent."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _listen(self, process: _Process, on_output: Callable[[str], None]) -> None:
        assert process.stdout is not None  # noqa: S101 - it was opened as a pipe
        for line in process.stdout:
            text = redact_line(line.rstrip("\n"))
            self._last.append(text)
            on_output(text)

    def _drain_output(self) -> None:
        """Read the remaining output from the pipe."""
        if (
            self._listener is not None and self._is_listening()
        ):  # an interrupt may arrive before the thread starts
            self._listener.join(timeout=1.0)

    def _close(self) -> None:
        self._drain_output()
        if self._process is not None and self._process.stdout is not None and not self._is_listening():
            self._process.stdout.close()
        self._process = self._listener = None

    def _is_listening(self) -> bool:
        return self._listener is not None and self._listener.is_alive()


def stop_together(services: Sequence[ProcessService], shutdown_flag: ShutdownFlag) -> None:
    """Terminate processes at the same time, and wait for their end. See `ProcessService.stop`."""
    for service in services:
        service.request_stop()
    while [service for service in services if service.is_stopping(shutdown_flag)]:
        time.sleep(_POLL_S)


def worker_command(
    *,
    concurrency: int | None = None,
    pool: str | None = None,
    name: str | None = None,
    queues: str | None = None,
    loglevel: str = "INFO",
    banner: bool = True,
) -> list[str]:
    """Return the command that runs a Celery worker.

    Options that are None keep the defaults of the settings.
    """
    command = [*_PROGRAM, *([] if banner else ["--quiet"]), "worker", "--loglevel", loglevel]
    # Workers do not need to exchange state; mingle would cost a second at every start.
    command += ["--without-mingle", "--without-gossip"]
    # Celery treats `prefork` as "not set" and uses the configured pool, threads; the alias `processes` is
    # respected.
    pool = "processes" if pool == "prefork" else pool
    chosen = {"--concurrency": concurrency, "--pool": pool, "--hostname": name, "--queues": queues}
    return [*command, *(f"{option}={value}" for option, value in chosen.items() if value is not None)]


def beat_command(*, banner: bool = True) -> list[str]:
    """Return the command that runs a beat."""
    # No pid file, because several beats may run in one folder.
    return [*_PROGRAM, *([] if banner else ["--quiet"]), "beat", "--loglevel=WARNING", "--pidfile="]


def _exit_of(pid: int) -> str | None:
    """Return how a child of this process ended; None if it runs. The exit status is not consumed."""
    try:
        gone = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return "exited"
    if gone is None:
        return None
    return _described(gone.si_status if gone.si_code == os.CLD_EXITED else -gone.si_status)


def _described(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


#: Address that Flower and the HTTP API listen on if none is named.
LOOPBACK = "127.0.0.1"


def http_command(port: int) -> list[str]:
    """Return the command that serves the HTTP API on loopback, without credentials."""
    return [sys.executable, "-m", "symposia", "serve", "--no-auth", f"--port={port}", "--quiet"]


def flower_command(
    port: int,
    *,
    address: str = LOOPBACK,
    url_prefix: str = "",
    read_only: bool = False,
    loglevel: str = "error",
) -> list[str]:
    """Return the command that serves Flower.

    Its arguments contain no secret: Flower reads the URL of the broker, and its own authentication, from the
    environment.

    Args:
        port: The port.
        address: The address to listen on.
        url_prefix: Path below which all pages are; empty: none.
        read_only: Whether Flower refuses all actions.
        loglevel: Minimum level of logged messages, as in Tornado.
    """
    return [
        *_PROGRAM,
        "flower",
        *(f"--address={address}", f"--port={port}", f"--logging={loglevel}"),
        *([f"--url_prefix={url_prefix}"] if url_prefix else []),
        *(["--read_only"] if read_only else []),
    ]
