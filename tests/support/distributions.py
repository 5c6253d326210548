"""The distributions of the package, built from a copy of the checkout, and the Pythons of the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def copy_sources(target: Path) -> Path:
    """Copy the checkout without what was built before, so that nothing of it gets into a distribution."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
    return Path(shutil.copytree(ROOT, target, ignore=ignored))


def build_sdist(source: Path, target: Path) -> Path:
    """Build the source distribution from a copy of the checkout."""
    code = "import setuptools.build_meta as it, sys; it.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, target], cwd=source, check=True, capture_output=True)
    (built,) = target.glob("symposia-*.tar.gz")
    return built


def build_wheel(source: Path, target: Path) -> Path:
    """Build the wheel from a folder or a source distribution."""
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", target)
    subprocess.run([*PIP, "wheel", *options, source], check=True, capture_output=True)
    (built,) = target.glob("symposia-*.whl")
    return built


def install(what: str, *, python: Path, folder: Path) -> Path:
    """Install a distribution, written as for pip, into a new environment; answers the Python of the environment."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    inside = folder / "bin" / "python"
    options = ("install", "--quiet", "--no-compile", "--constraint", ROOT / "constraints.txt")
    done = subprocess.run(
        [*PIP, "--python", inside, *options, what], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return inside


def find_python(version: str) -> Path | None:
    """The Python of this version, such as `3.12`, on the search path or among those of pyenv."""
    code = "import sys; print('{}.{}'.format(*sys.version_info))"
    for candidate in _candidates(version):
        done = subprocess.run([candidate, "-c", code], check=False, capture_output=True, text=True)
        if done.stdout.strip() == version:
            return candidate
    return None


def _candidates(version: str) -> Iterator[Path]:
    if found := shutil.which(f"python{version}"):
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
