"""A database that ends all connections fails at most one attempt of a turn of each thread, and no later session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scaling import patient
from servers.postgres import MISSING, own_postgres, programs

pytest.importorskip("django", reason="needs the package django")

SCRIPT = Path(__file__).parents[2] / "support/stub_agents/django_database.py"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_lost_connections_fail_no_later_session(tmp_path, kind):
    if (bin_folder := programs()) is None:
        pytest.skip(MISSING)
    with own_postgres(bin_folder) as server:
        run = subprocess.run(
            [sys.executable, SCRIPT, server.url, kind],
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            timeout=patient(60),
        )
    assert run.returncode == 0, run.stderr
    reasons, calls = zip(*map(str.split, run.stdout.splitlines()), strict=True)
    assert reasons == ("max_turns",) * 3
    assert calls == ("4", "5", "5"), "the first query finds out that its connection is lost"
