"""The program of the fork server, and of its forks: see `fork_server.py`."""

from __future__ import annotations

import atexit
import gc
import json
import logging
import os
import runpy
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

from ...agents.programs.process import end_this_with_parent, hide_environment
from ...config.environment import replace_environment
from .process_title import set_process_title

#: Longest message between the processes; the kernel's limit may be lower.
MAX_MESSAGE_BYTES = 1 << 20
#: Python's own default, which the command line changes for its short commands.
_COLLECT_AFTER = (700, 10, 10)
#: Signals that ask a process to end. The fork server ignores them, because its end would kill the services. A service ends
#: when it gets such a signal itself, from the sender or from `symposia up`.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_HANDLED = (*_ENDING, signal.SIGCHLD)


def run_fork_server(orders: socket.socket, parent: int) -> NoReturn:
    """Fork for each order, until the other end of the socket is closed."""
    try:
        end_this_with_parent(parent)
        os.setpgid(0, 0)  # Ctrl-C signals the whole process group
        hide_environment()
        _forget_parent(orders)
        set_process_title("symposia up: fork server")
        _default_signals()
        for number in _ENDING:
            signal.signal(number, lambda *_: None)  # not SIG_IGN, which the forks would keep
        order = _serve(orders)
        if order is not None:
            _run_program(*order)
    except BaseException:  # noqa: BLE001 - nothing of the caller must run in this process
        traceback.print_exc()
    os._exit(1)


def _forget_parent(orders: socket.socket) -> None:
    """Drop what `symposia up` has and a new interpreter would not have: handlers of logs and errors, files of its shell."""
    for name in ("", "symposia"):
        logging.getLogger(name).handlers.clear()
    sys.excepthook = sys.__excepthook__
    for path in [*Path("/proc/self/fd").iterdir()]:
        descriptor = int(path.name)
        with suppress(OSError):  # that of the list
            if descriptor not in (0, 1, 2, orders.fileno()) and os.get_inheritable(descriptor):
                os.close(descriptor)


def _serve(orders: socket.socket) -> tuple[dict[str, Any], int] | None:
    """Fork for each order; return the order and its output in the fork, None at the end."""
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    while True:
        ready, _, _ = select.select([orders.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 1_024)
            _report_ended(orders)
        if orders.fileno() not in ready:
            continue
        message, descriptors, _, _ = socket.recv_fds(orders, MAX_MESSAGE_BYTES, 1)
        if not message:
            return None
        server = os.getpid()
        # A signal to a new fork waits until the fork can handle it.
        signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
        if pid := _fork(descriptors):
            with suppress(OSError):  # `up` may signal its group at once
                os.setpgid(pid, pid)
            orders.send(json.dumps([max(pid, 0), None]).encode())
            for descriptor in descriptors:
                os.close(descriptor)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
            continue
        end_this_with_parent(server)
        signal.set_wakeup_fd(-1)
        for descriptor in (woken, wakes):
            os.close(descriptor)
        orders.close()
        return json.loads(message), descriptors[0]


def _fork(descriptors: Sequence[int]) -> int:
    """Fork; return the id of the fork, 0 in the fork, and -1 if there are too many processes or open files."""
    try:
        return os.fork() if descriptors else -1
    except OSError:
        return -1


def _report_ended(orders: socket.socket) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            pid, status = ended
            orders.send(json.dumps([pid, os.waitstatus_to_exitcode(status)]).encode())


def _default_signals() -> None:
    for number in _HANDLED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            handler = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, handler)


def _run_program(order: dict[str, Any], output: int) -> NoReturn:
    """Do in this fork what `python -m` would do in a new process, and end it."""
    _default_signals()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
    os.setpgid(0, 0)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.close(output)
    replace_environment(order["environment"])
    time.tzset()
    module, *arguments = order["command"]
    set_process_title(" ".join([Path(sys.executable).name, "-m", module, *arguments]))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # its output may have been a terminal or a file
            stream.reconfigure(line_buffering=True)
    if not sys.flags.safe_path:
        sys.path[0] = str(Path.cwd())
    sys.argv = ["-m", *arguments]  # as `python -m`, until the module is found
    gc.set_threshold(*_COLLECT_AFTER)
    gc.enable()
    code = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = _exit_code(end.code)
    except BaseException:  # noqa: BLE001 - as the interpreter
        sys.excepthook(*sys.exc_info())
        code = 1
    # What the interpreter does at its end, without the destruction of all objects, which would copy their pages.
    for end_part in (threading._shutdown, atexit._run_exitfuncs, sys.stdout.flush):  # type: ignore[attr-defined]  # noqa: SLF001
        with suppress(BaseException):
            end_part()
    os._exit(code)


def _exit_code(code: object) -> int:
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1
