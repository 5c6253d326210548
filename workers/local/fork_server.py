"""Fork server of `symposia up`: a process that has imported what its services import, and forks for each of them.

The forks share the memory of that code, and start without importing it. The fork server has one thread and no
connection, so a fork holds no lock of another thread. It ends with this process, and its forks end with it, for any
reason (Linux). `forked_program.py` is what both run.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper

from .forked_program import MAX_MESSAGE_BYTES, run_fork_server

log = logging.getLogger(__name__)

#: Maximum seconds until the fork server answers.
_ANSWER_TIMEOUT_S = 10.0
#: Commands that can run in a fork: `python -m MODULE ...`.
_PREFIX = (sys.executable, "-m")


class ForkedProcess:
    """A fork, with what `ProcessService` uses of `subprocess.Popen`."""

    def __init__(self, server: ForkServer, pid: int, output: TextIOWrapper) -> None:
        self.pid = pid
        self.stdout = output
        self._server = server

    def poll(self) -> int | None:
        """Return the exit code, or the negative number of its signal; None: it runs."""
        return self._server.exit_code(self.pid)

    def send_signal(self, number: int) -> None:
        """Send it a signal if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)


class ForkServer:
    """The fork server, started by a fork of this process. Only the thread that started it may use it.

    Args:
        modules: Modules that it imports; one that cannot be imported is skipped.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        #: Exit codes of the forks; None: it runs.
        self._exit_codes: dict[int, int | None] = {}
        self._is_running = True
        for module in modules:
            with suppress(Exception):  # the service reports it
                import_module(module)
        gc.collect()
        gc.freeze()  # a collection would write to all objects, and so copy their pages
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self._pid = os.fork()
        if not self._pid:
            self._socket.close()
            run_fork_server(theirs, parent)  # does not return
        theirs.close()

    def start(self, command: Sequence[str], environment: Mapping[str, str]) -> ForkedProcess | None:
        """Run `python -m MODULE ...` in a fork, in a process group of its own.

        Args:
            command: The command.
            environment: Its environment variables.

        Returns:
            The process, with its output and errors in one pipe; None if it must be started in another way.
        """
        if not self._is_running or tuple(command[:2]) != _PREFIX:
            return None
        order = json.dumps({"command": command[2:], "environment": dict(environment)}).encode()
        reads, writes = os.pipe()
        output = os.fdopen(reads, errors="replace")
        with (
            suppress(OSError),
            os.fdopen(writes),
        ):  # longer than a message can be, or the fork server has ended
            socket.send_fds(self._socket, [order], [writes])
            while (message := self._receive(_ANSWER_TIMEOUT_S)) is not None:
                pid, code = message
                if code is None and pid:
                    return ForkedProcess(self, pid, output)
                if not pid:  # it could not fork
                    output.close()
                    return None
            self.close()  # a late fork would be a second process
        output.close()
        return None

    def exit_code(self, pid: int) -> int | None:
        """Return the exit code of a fork; None: it runs."""
        self._receive_all()
        if self._exit_codes.get(pid) is None and not _exists(pid):
            self._receive_all()
            # Its end was reported, and an interrupt of this thread lost the message.
            self._exit_codes[pid] = -signal.SIGKILL if (code := self._exit_codes.get(pid)) is None else code
        return self._exit_codes.get(pid)

    def _receive_all(self) -> None:
        while self._receive(0) is not None:
            pass

    def close(self) -> None:
        """End the fork server; forks that run are killed. A second call does nothing."""
        if not self._is_running:
            return
        self._is_running = False
        self._socket.close()
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)

    def _receive(self, timeout_s: float) -> tuple[int, int | None] | None:
        """Return the next fork that has started, or ended with an exit code; None: there is none."""
        if not self._is_running or not select.select([self._socket], [], [], timeout_s)[0]:
            return None
        try:
            message = self._socket.recv(MAX_MESSAGE_BYTES)
        except ConnectionResetError:
            message = b""
        if not message:  # the fork server has ended, and the kernel has killed its forks
            log.warning("the fork server has ended, services start in interpreters of their own")
            self.close()
            running = [pid for pid, code in self._exit_codes.items() if code is None]
            self._exit_codes.update(dict.fromkeys(running, -signal.SIGKILL))
            return None
        pid, code = json.loads(message)
        if pid:
            self._exit_codes[pid] = code
        return pid, code


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def start_fork_server(modules: Sequence[str]) -> ForkServer | None:
    """Start a fork server where forks are safe: on Linux, in a process with one thread. None: not here."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return None
    return ForkServer(modules)
