"""Temporary git repository of a data set of changes: the files before the change are committed, those after it are not."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ..sources.git import Git

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
    git = Git(folder / ".git", folder, folder)
    for arguments in (("init", "-q"), ("add", "-A"), _COMMIT):
        git.run(*arguments)
    for name in names:
        (folder / name).unlink(missing_ok=True)
    _copy(after, folder, names)
    return folder


def _copy(source: Path, target: Path, names: Iterable[str]) -> None:
    for name in names:
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)
