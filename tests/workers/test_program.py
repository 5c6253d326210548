"""Workers and beats start without the rest of Celery's command line, and take the same options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import sys
from symposia.workers.__main__ import find_app
from symposia.workers.program import run
try:
    run(find_app, sys.argv[1:])
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def call(folder: Path, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "SYMPOSIA_REDIS_URL": "redis://127.0.0.1:1/0", **settings},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize(("program", "option"), [("worker", "--concurrency"), ("beat", "--max-interval")])
def test_it_takes_celerys_options_and_loads_no_plugin_and_no_shell(tmp_path, program, option):
    said = call(tmp_path, "-c", LOADED, program, "--help")
    assert said.returncode == 0, said.stderr
    assert option in said.stdout
    loaded = set(said.stdout.splitlines()[-1].split())
    assert {"celery", "symposia"} <= loaded
    assert not {"flower", "tornado", "prompt_toolkit", "click_repl"} & loaded


@pytest.mark.parametrize(
    ("arguments", "settings", "told"),
    [
        (["worker"], {"SYMPOSIA_LEASE_S": "soon"}, "SYMPOSIA_LEASE_S: must be"),
        (["worker", "--dance"], {}, "No such option"),
        (["flower"], {}, "No such command 'flower'"),
    ],
)
def test_what_is_wrong_is_told_without_a_traceback(tmp_path, arguments, settings, told):
    said = call(tmp_path, "-m", "symposia.workers", *arguments, **settings)
    assert (said.returncode, said.stdout) == (2, "")
    assert told in said.stderr
    assert said.stderr.startswith("Usage: python -m symposia.workers")
    assert "Traceback" not in said.stderr
