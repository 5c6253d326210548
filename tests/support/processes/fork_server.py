"""Workers and commands as forks of a process that has imported their code, which is most of the time of a start.

    python -m processes.fork_server DESCRIPTOR

The process runs until its end of a socket is closed, or the thread that started it has ended. Its code may be that of
an earlier release, which lacks modules of today: this module imports what only the tests need in its functions.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

#: What workers and commands import, except the app, which reads the settings.
_IMPORTED = (
    "celery.apps.worker",
    "celery.bin.beat",
    "celery.bin.worker",
    "celery.concurrency.prefork",
    "celery.concurrency.thread",
    "celery.worker.consumer",
    "kombu.transport.redis",
    "rich.progress",
    "symposia.alignment.document",
    "symposia.archive.archive",
    "symposia.cli.doctor.checks",
    "symposia.client.client",
    "symposia.evaluation.cases_file",
    "symposia.evaluation.results",
    "symposia.evaluation.runner",
    "symposia.replay.comparing",
    "symposia.replay.replay",
    "symposia.reviews.celery_tasks",
    "symposia.schedules.celery_tasks",
    "symposia.tasks.celery_tasks",
    "symposia.workers.callbacks",
    "symposia.workers.local.services_group",
    "symposia.workers.worker_app",
)
_MAX_ORDER = 1 << 17
_PR_SET_PDEATHSIG = 1
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

        command = [sys.executable, "-m", "processes.fork_server", str(theirs.fileno())]
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
            assert self._changed.wait_for(lambda: self._started, 60), "the fork server does not answer"
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


def _serve(orders: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Fork for each order; return the order and the descriptors in the fork, None at the end."""
    woken, wakes = os.pipe()
    for descriptor in (woken, wakes):
        os.set_blocking(descriptor, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    while True:
        ready, _, _ = select.select([orders, woken], [], [])
        if woken in ready:
            os.read(woken, 1_024)
            _report_ended(orders)
        if orders in ready:
            message, descriptors, _, _ = socket.recv_fds(orders, _MAX_ORDER, 3)
            if not message:
                return None
            order = json.loads(message)
            _import(order.get("imported", ()))
            if not os.fork():
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.setsid()  # before it has started for the tests, which send signals to its group
                orders.send(json.dumps(["started", os.getpid(), 0]).encode())
                for descriptor in (woken, wakes, orders.detach()):
                    os.close(descriptor)
                return order, descriptors
            for descriptor in descriptors:
                os.close(descriptor)


def _report_ended(orders: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        orders.send(json.dumps(["ended", pid, os.waitstatus_to_exitcode(status)]).encode())


def _become(order: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Turn this fork into what `python -m`, or `python` with a script, would have started."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    os.chdir(order["cwd"])
    for at, descriptor in enumerate(descriptors):
        os.dup2(descriptor, at)
        os.close(descriptor)
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for the whole process
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # noqa: SIM115
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
    os.environ.clear()
    os.environ.update(order["env"])
    time.tzset()
    if "PYTHONFAULTHANDLER" in os.environ:
        faulthandler.enable()
    script = order.get("script")
    folders = [order["cwd"] if script is None else str(Path(script).parent)]
    folders += filter(None, order["env"].get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:] = [*folders, *(it for it in sys.path if it not in {"", str(_SUPPORT), *folders})]
    sys.argv = [script or order["module"], *order["arguments"]]
    if script is None:
        runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(script, run_name="__main__")


def _import(names: Sequence[str]) -> None:
    if missing := [it for it in names if it not in sys.modules]:
        for name in missing:
            import_module(name)
        gc.freeze()


def main(descriptor: int) -> None:
    del sys.path[0]  # the folder in which the tests run
    import_module("symposia")
    # The finder of the editable installation would add packages of today to an earlier release.
    sys.meta_path[:] = [it for it in sys.meta_path if not it.__module__.startswith("__editable__")]
    for name in _IMPORTED:
        with suppress(ModuleNotFoundError):  # an earlier release may lack it
            import_module(name)
    # In an earlier release the commands have another place.
    package = "symposia.cli" if find_spec("symposia.cli") else "symposia.workers.cli"
    for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        import_module(module.name)
    gc.freeze()
    with socket.socket(fileno=descriptor) as orders:
        order = _serve(orders)
    if order is not None:
        _become(*order)


if __name__ == "__main__":
    main(int(sys.argv[1]))
