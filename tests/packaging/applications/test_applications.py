"""The applications of the examples pass their tests in a fresh environment, with the wheel and a real server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from distributions import PIP, ROOT, build_wheel, copy_sources, install
from scaling import patient

#: They install packages, and start servers and workers.
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = copy_sources(tmp_path_factory.mktemp("source") / "symposia")
    return build_wheel(source, tmp_path_factory.mktemp("wheel"))


@pytest.mark.parametrize("name", ["celery_app", "django_app", "fastapi_app"])
def test_application_passes_its_tests(name: str, wheel: Path, redis_url: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ROOT / "examples" / name, tmp_path / name))
    python = install(str(wheel), python=Path(sys.executable), folder=tmp_path / "environment")
    needed = [line for line in (folder / "requirements.txt").read_text().split() if line != "symposia"]
    subprocess.run([*PIP, "--python", python, "install", "--quiet", *needed], check=True, capture_output=True)
    variables = {"REDIS_URL": redis_url, "SYMPOSIA_DATA_DIR": str(tmp_path / "data")}
    run = subprocess.Popen(
        [python, "-m", "pytest", "-q", "--rootdir", ".", "test_shop.py"],
        cwd=folder,
        env={**os.environ, **variables, "PYTHONPATH": str(folder), "PYTEST_ADDOPTS": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with run:
        try:
            output, _ = run.communicate(timeout=patient(120))
        finally:  # their workers, too: one that is left would take the messages of all later tests on this server
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
    assert "2 passed" in output, output
