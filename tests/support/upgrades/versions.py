"""Versions of the code, each unpacked in a folder that comes first on the import path of a process.

The code of a release is kept as its wheel. It runs with the dependencies of today, so that nothing is downloaded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from distributions import ROOT, build_wheel, copy_sources


def write_wheel(release: Path) -> Path:
    """Build the wheel of today's code in the folder of a release, instead of an earlier one."""
    with tempfile.TemporaryDirectory() as folder:
        built = build_today(Path(folder))
        version = built.name.split("-")[1]
        if version != release.name:
            raise SystemExit(
                f"{release}: the code has version {version} (pyproject.toml), so RELEASE must be {version}"
            )
        release.mkdir(parents=True, exist_ok=True)
        for earlier in release.glob("*.whl"):
            earlier.unlink()
        return Path(shutil.copy(built, release))


def build_today(folder: Path) -> Path:
    """Build the wheel of today's code, which must not name the folder in which it was built."""
    (target := folder / "wheel").mkdir()
    built = build_wheel(copy_sources(folder / "symposia"), target)
    with zipfile.ZipFile(built) as archive:
        named = [it for it in archive.namelist() if str(ROOT).encode() in archive.read(it)]
    if named:
        raise SystemExit(f"{', '.join(named)}: names the folder {ROOT}")
    return built


def unpack(wheel: Path, folder: Path) -> Path:
    """Unpack a wheel into a new folder; return the folder."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def give_scripts_other_digests(code: Path) -> None:
    """Change each Lua script of unpacked code, in a comment only, as a release changes some of them."""
    scripts = sorted(code.glob("symposia/state/lua/*/*.lua"))
    assert scripts
    for script in scripts:
        script.write_text(f"{script.read_text()}\n-- of another version\n")


def raise_formats(code: Path) -> None:
    """Let unpacked code write and read a format that is one higher, of everything that has one."""
    module = code / "symposia/state/redis/formats.py"
    before, line, after = re.split(r"^(FORMATS.* = \{.*\})$", module.read_text(), flags=re.MULTILINE)
    raised = re.sub(r"(: )(\d+)", lambda found: f"{found[1]}{int(found[2]) + 1}", line)
    assert raised != line
    # Also of sessions without a newer field.
    module.write_text(f'{before}{raised}{after}\nsession_format = lambda *_: FORMATS["session"]\n')


@dataclass(frozen=True)
class Versions:
    """Folders with unpacked code: that of a release, that of today, and one with formats of the next release."""

    released: Path
    today: Path
    newer: Path


def unpack_versions(released: Path, today: Path, folder: Path) -> Versions:
    """Unpack the wheels of a release and of today."""
    found = Versions(folder / "released", folder / "today", folder / "newer")
    unpack(released, found.released)
    for code in (found.today, found.newer):
        unpack(today, code)
        # Their scripts are on one server with those of the release, even if no script has changed since.
        give_scripts_other_digests(code)
    raise_formats(found.newer)
    return found


def digests_of(verbs: Sequence[str], code: Path) -> list[str]:
    """Return the digests of Lua scripts, as a process with that code calls them."""
    program = "import sys; from symposia.state.redis.scripts import load_script as load; print(*(load(it).sha for it in sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, *verbs],
        env={**os.environ, "PYTHONPATH": str(code)},
        cwd=code,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()
