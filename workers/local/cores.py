"""Number of cores that this process may use: its affinity, limited by the CPU quota of its control group."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

from ...config.settings import Settings

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
