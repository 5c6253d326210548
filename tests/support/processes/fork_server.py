"""Workers and commands as forks of a process that has imported their code, which is most of the time of a start.

`forked_program` is what that process runs. It ends with the thread that started it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from scaling import patient

_SUPPORT = Path(__file__).parents[1]


class ForkedProcess:
    """A process of the fork server, with what the tests use of `subprocess.Popen`."""

    def __init__(self, pid: int, ended: dict[int, int], changed: threading.Condition) -> None:
        self.pid = pid
        self._ended = ended
        self._changed = changed

    @property
    def returncode(self) -> int | None:
        """The exit code, or minus the number of the signal that ended it; None: it runs."""
        return self._ended.get(self.pid)

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        with self._changed:
            if not self._changed.wait_for(lambda: self.returncode is not None, timeout):
                raise subprocess.TimeoutExpired(f"forked process {self.pid}", timeout or 0)
        return self._ended[self.pid]

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The process that forks, and what it says of its forks.

    Args:
        code: Folder with the code of another version, which the process imports; None: that of today.
    """

    def __init__(self, code: Path | None = None) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        from symposia.client.processes import end_with_parent

        command = [sys.executable, "-m", "processes.forked_program", str(theirs.fileno())]
        # Not the PYTHONPATH of the tests: each worker has its own.
        folders = os.pathsep.join(str(it) for it in (code, _SUPPORT) if it)
        environment = {**os.environ, "PYTHONPATH": folders}
        with theirs:
            self.process = subprocess.Popen(
                end_with_parent(command, signal.SIGKILL), env=environment, pass_fds=[theirs.fileno()]
            )
        self._ended: dict[int, int] = {}
        self._changed = threading.Condition()
        self._started: list[int] = []
        self._starting = threading.Lock()
        self._reader = threading.Thread(target=self._read, name="fork-server", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while message := self._socket.recv(1_024):
            kind, pid, code = json.loads(message)
            with self._changed:
                if kind == "started":
                    self._ended.pop(pid, None)  # an earlier process had this number
                    self._started.append(pid)
                else:
                    self._ended[pid] = code
                self._changed.notify_all()

    def start(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        output: IO[bytes],
        imported: Sequence[str] = (),
    ) -> ForkedProcess:
        """Run a module as `python -m` does, in a session of its own; both outputs go to `output`.

        `imported`: modules that the fork server imports first, unless it has done so.
        """
        with Path(os.devnull).open("rb") as nothing:
            descriptors = (nothing.fileno(), output.fileno(), output.fileno())
            program = {"module": module, "imported": list(imported)}
            return self._start(program, arguments, descriptors, env, cwd)

    def start_script(
        self,
        script: Path,
        arguments: Sequence[str],
        *,
        descriptors: tuple[int, int, int],
        env: Mapping[str, str],
        cwd: Path,
    ) -> ForkedProcess:
        """Run a Python script in a session of its own; `descriptors` are its standard input and outputs."""
        return self._start({"script": str(script)}, arguments, descriptors, env, cwd)

    def _start(
        self,
        program: Mapping[str, Any],
        arguments: Sequence[str],
        descriptors: tuple[int, int, int],
        env: Mapping[str, str],
        cwd: Path,
    ) -> ForkedProcess:
        order = {**program, "arguments": list(arguments), "env": dict(env), "cwd": str(cwd)}
        with self._starting, self._changed:
            socket.send_fds(self._socket, [json.dumps(order).encode()], descriptors)
            assert self._changed.wait_for(lambda: self._started, patient(60)), (
                "the fork server does not answer"
            )
            pid = self._started.pop()
        return ForkedProcess(pid, self._ended, self._changed)

    def close(self) -> None:
        """End the process; its forks are killed."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        self._socket.close()
        self.process.wait()


#: The fork servers of these tests, by their code.
_SERVERS: dict[Path | None, ForkServer] = {}


def fork_server(code: Path | None = None) -> ForkServer:
    """Return the fork server of these tests that has imported this code."""
    from chaos.machinery.spawning import from_the_staying_thread

    if code not in _SERVERS:
        _SERVERS[code] = from_the_staying_thread(partial(ForkServer, code))
    return _SERVERS[code]


def start_module(
    module: str,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    output: IO[bytes],
    code: Path | None = None,
    imported: Sequence[str] = (),
    as_installed: bool = False,
) -> subprocess.Popen[bytes] | ForkedProcess:
    """Run a module as `python -m` does, in a session of its own that ends with the tests: a fork where there can be one.

    `code`: folder with the code of another version; `imported`: as in `ForkServer.start`; `as_installed`: no fork.
    """
    if sys.platform == "linux" and not as_installed:
        return fork_server(code).start(module, arguments, env=env, cwd=cwd, output=output, imported=imported)
    from symposia.client.processes import end_with_parent

    return subprocess.Popen(
        end_with_parent([sys.executable, "-m", module, *arguments], signal.SIGKILL),
        env=env,
        cwd=cwd,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def fork_server_pids() -> set[int]:
    """Return the processes of all fork servers."""
    return {it.process.pid for it in _SERVERS.values()}


def close_fork_server(code: Path | None = None) -> None:
    """End the fork server with this code, if there is one."""
    if server := _SERVERS.pop(code, None):
        server.close()
