"""The program of a fork server: it imports the code of workers and commands, and forks for each order that it gets.

    python -m processes.forked_program DESCRIPTOR

It runs until its end of a socket is closed, or the thread that started it has ended. Its code may be that of an earlier
release, which lacks modules of today: this module imports nothing of the tests.
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
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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
#: Longest message of an order.
MAX_ORDER_BYTES = 1 << 17
_PR_SET_PDEATHSIG = 1
_SUPPORT = Path(__file__).parents[1]


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
            message, descriptors, _, _ = socket.recv_fds(orders, MAX_ORDER_BYTES, 3)
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
