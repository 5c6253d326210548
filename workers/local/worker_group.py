"""Worker processes of `symposia worker`: one supervisor, and a Celery worker for each usable core.

Usable are the cores of the affinity of this process, limited by the CPU quota of its control group.

Python runs one thread of a process at a time, so one worker process uses one core.

| signal to the supervisor | effect on every worker |
|---|---|
| SIGTERM, first SIGINT | warm shutdown (SIGTERM); more of SIGTERM have no effect |
| SIGQUIT, later SIGINT | cold shutdown (SIGQUIT) |
| SIGHUP, SIGUSR1 | forwarded: restart; stacks of all threads in the log |
| SIGKILL | the kernel kills the workers (Linux) |
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ...config.settings import METRICS_PORT, Settings
from ...models.errors import ServiceEnded
from ...models.text.words import count_of
from .services import ProcessService, stop_together
from .supervisor import Interrupts, Supervisor

#: Failures in a row, each less than a minute after the start, after which the supervisor ends.
_GIVES_UP_AFTER = 5
_CHECK_EVERY_S = 0.2
_FORWARDED = (signal.SIGHUP, signal.SIGUSR1)
_SHUTDOWN = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
_COLD_SHUTDOWN = (signal.SIGINT, signal.SIGQUIT)


def numbered_name(name: str | None, number: int) -> str:
    """Return the node name of a worker: `celery@%h` with 2 is `celery-2@%h`."""
    base, at, host = (name or "celery@%h").partition("@")
    # Like Celery: a name without @ is a host.
    return f"{base}-{number}@{host}" if at else f"celery-{number}@{base}"


def run_workers(
    count: int,
    make_command: Callable[[int], Sequence[str]],
    *,
    environment: Mapping[str, str],
    say: Callable[[str], None],
) -> int:
    """Run worker processes until a signal stops this process, and wait for their end.

    A worker that ends is restarted, with growing delays. If one fails five times in a row, all are stopped.
    The output of the workers goes to the output of this process. Only the first worker serves metrics, because
    each endpoint has the numbers of the whole installation.

    Args:
        count: Number of workers.
        make_command: Function that returns the command of the worker with this number (from 1).
        environment: Environment variables of all workers.
        say: Callback for lines of the supervisor.

    Returns:
        The exit code: 0, or that of the first worker with another one.
    """
    others = {name: value for name, value in environment.items() if name != METRICS_PORT}
    workers = [
        ProcessService(
            f"worker {number}",
            make_command(number),
            environment=environment if number == 1 else others,
            urgent_signal=signal.SIGQUIT,
        )
        for number in range(1, count + 1)
    ]
    with Interrupts(signals=_SHUTDOWN, urgent=_COLD_SHUTDOWN) as interrupts, ExitStack() as stack:
        supervisor = Supervisor(workers, interrupts=interrupts, say=say, gives_up_after=_GIVES_UP_AFTER)
        failed = 0
        try:
            waiting = stack.enter_context(_waiting_signals())
            stack.enter_context(supervisor)
            stack.callback(stop_together, workers, interrupts.shutdown_flag)
            stack.callback(interrupts.disarm)
            say(f"started {count_of(count, 'worker process', 'worker processes')}")
            while True:
                supervisor.check_services()
                time.sleep(_CHECK_EVERY_S)
                while waiting:
                    number = waiting.popleft()
                    for worker in workers:
                        worker.send_signal(number)
        except KeyboardInterrupt:
            say("stopping after the turns in flight; press Ctrl-C again to cancel them")
        except ServiceEnded as error:
            failed = _exit_code(workers) or 1
            say(f"{error}; stopping all workers")
        stack.close()
        return failed or _exit_code(workers)


@contextmanager
def _waiting_signals() -> Iterator[deque[int]]:
    """Collect the signals to forward. A handler must not send them: it may interrupt the wait for a child."""
    waiting: deque[int] = deque()
    with ExitStack() as stack:
        for number in _FORWARDED:
            before = signal.signal(number, lambda signum, _frame: waiting.append(signum))
            stack.callback(signal.signal, number, before)
        yield waiting


def _exit_code(workers: Sequence[ProcessService]) -> int:
    """Return the first exit code that is no success, as in a shell; the requested SIGTERM is one."""
    codes = [worker.exit_code for worker in workers if worker.exit_code not in (None, 0, -signal.SIGTERM)]
    return 0 if not codes else codes[0] if codes[0] > 0 else 128 - codes[0]


_CGROUP = Path("/proc/self/cgroup")
_CGROUP_ROOT = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """Return the number of cores that this process may use, at least 1.

    A CPU quota counts on Linux with control groups of version 2, also that of a parent group. A part of a core
    counts as a core.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    with suppress(OSError):
        cores = min([cores, *read_quotas(_CGROUP.read_text(), _CGROUP_ROOT)])
    return max(cores, 1)


def read_quotas(membership: str, root: Path) -> list[int]:
    """Return the CPU quotas of a control group and its parents, in cores rounded up.

    Args:
        membership: Text of `/proc/self/cgroup`.
        root: Folder of the control groups.
    """
    path = next((line[3:] for line in membership.splitlines() if line.startswith("0::/")), None)
    if path is None:
        return []
    group = Path(path.lstrip("/"))
    quotas = []
    for folder in (group, *group.parents):
        with suppress(OSError, ValueError):  # the root group has no quota; `max` is no number
            quota, period = (root / folder / "cpu.max").read_text().split()
            quotas.append(math.ceil(int(quota) / int(period)))
    return quotas


#: Maximum number of worker processes without a configured number.
_MAX_PROCESSES = 64


def worker_processes(settings: Settings, chosen: int | None, *, default: int | None = None) -> int:
    """Return the number of worker processes.

    Args:
        settings: Settings, which may have a number.
        chosen: Number from the command line, if any.
        default: Number if neither has one; None: the usable cores.
    """
    return chosen or settings.worker_processes or default or min(usable_cores(), _MAX_PROCESSES)
