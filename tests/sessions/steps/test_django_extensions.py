"""django-celery-beat and django-celery-results beside sessions: their results are stored, and the beat sends steps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from live import SUPPORT, LiveWorker
from programs import find_frameworks
from scaling import patient

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def test_results_and_beat_of_django_know_sessions(installation: Any) -> None:
    frameworks, folder = find_frameworks(), installation.folder
    environment = {f"SYMPOSIA_{name.upper()}": str(value) for name, value in installation.settings.items()}
    environment["DJANGO_SETTINGS_MODULE"] = "processes.django_shop"

    def run(function: str) -> str:
        search = os.pathsep.join(filter(None, [str(SUPPORT), *sys.path, str(frameworks)]))
        program = (
            f"import django; django.setup(); from processes import django_shop; django_shop.{function}()"
        )
        ended = subprocess.run(
            [sys.executable, "-c", program],
            check=False,
            cwd=folder,
            env={**os.environ, **environment, "PYTHONPATH": search},
            capture_output=True,
            text=True,
            timeout=patient(200),
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    run("create_tables")
    worker = LiveWorker(
        *("w1", folder, environment),
        app="processes.django_shop",
        concurrency=2,
        options=["--pool", "threads", "-B"],
        path=[frameworks],
        as_installed=True,
    )
    installation.workers.append(worker)
    worker.wait_ready()
    chained, chord, planned, stored = json.loads(run("run_steps"))
    assert (chained, chord, planned) == (["completed"], ["completed"] * 2, ["completed"])
    assert stored == ["shop.statuses", "symposia.session"]
    assert "run `symposia beat`" in worker.log()
    assert " ERROR" not in worker.log(), worker.log()
