"""The circumstances of a run: machine, load and versions. No host name, no path."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil
from redis import Redis

PACKAGES = ("symposia", "celery", "kombu", "redis", "hiredis", "pydantic", "sqlalchemy", "gevent")


def describe_circumstances(client: Redis) -> dict[str, Any]:
    """Return the machine, its load before the run, and the versions of server and packages."""
    server = client.info("server")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "processor": processor_model(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "server": f"{server.get('server_name', 'redis')} {server.get('valkey_version') or server['redis_version']}",
        "load_before": round(os.getloadavg()[0], 2),
        "packages": installed_versions(),
    }


def processor_model() -> str:
    """Return the model of the processor; of an unknown system, its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def installed_versions() -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
