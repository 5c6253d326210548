"""Temporary git repository of a data set of changes: the files before the change are committed, those after it are not."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ...models.errors import GitFailed

#: Maximum seconds of one call of git.
_TIMEOUT_S = 120
_COMMIT = (
    "-c",
    "user.name=symposia",
    "-c",
    "user.email=",
    "-c",
    "commit.gpgsign=false",
    "commit",
    "-qm",
    "before",
)


def change_repository(before: Path, after: Path, paths: Iterable[str]) -> Path:
    """Return a folder whose work tree differs from its commit by the change of the paths; it is deleted at exit.

    Raises:
        GitFailed: Git is not installed, or failed.
    """
    folder = Path(tempfile.mkdtemp(prefix="symposia-change-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    names = list(paths)
    _copy(before, folder, names)
    for arguments in (("init", "-q"), ("add", "-A"), _COMMIT):
        _git(folder, *arguments)
    for name in names:
        (folder / name).unlink(missing_ok=True)
    _copy(after, folder, names)
    return folder


def _copy(source: Path, target: Path, names: Iterable[str]) -> None:
    for name in names:
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)


def _git(folder: Path, *arguments: str) -> None:
    program = shutil.which("git")
    if program is None:
        raise GitFailed("git is not installed")
    environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/dev/null"}
    try:
        subprocess.run(
            [program, *arguments],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise GitFailed(f"git {arguments[0]} failed: {type(error).__name__}") from None
