"""The kept wheel of each release is complete, small, and of that release."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from distributions import ROOT
from upgrades.releases import wheel_of
from upgrades.versions import unpack

#: Bytes. A repository keeps each of them forever.
MAX_BYTES = 2_500_000


def test_kept_wheel_is_pure_and_small(release: str) -> None:
    wheel = wheel_of(release)
    assert wheel.name == f"symposia-{release}-py3-none-any.whl"
    assert wheel.stat().st_size < MAX_BYTES


def test_kept_wheel_names_no_folder_of_its_machine(release: str) -> None:
    with zipfile.ZipFile(wheel_of(release)) as wheel:
        names = wheel.namelist()
        assert not [name for name in names if name.endswith(("direct_url.json", ".pyc"))]
        # Found only where it was built; `make upgrade-fixture` refuses such a wheel, too.
        assert not [name for name in names if str(ROOT).encode() in wheel.read(name)]


def test_kept_code_comes_before_that_of_today(release: str, tmp_path: Path) -> None:
    code = unpack(wheel_of(release), tmp_path / "code")
    program = "import symposia, symposia.models.errors as it; print(symposia.__version__, symposia.__file__, it.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(code)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    version, *files = done.stdout.split()
    assert version == release
    assert files == [str(code / "symposia" / name) for name in ("__init__.py", "models/errors.py")]
