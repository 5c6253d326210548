"""A git repository in a temporary folder, made by the real program."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_WHO = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false")


class GitTree:
    """A repository with a work tree; skips the test where git is not installed."""

    def __init__(self, folder: Path, *options: str) -> None:
        if shutil.which("git") is None:
            pytest.skip("git is not installed")
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", *options)

    def git(self, *arguments: str) -> str:
        """What git answers."""
        done = subprocess.run(
            ["git", *_WHO, *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def put(self, path: str, text: str) -> Path:
        """Writes a file, with its folders."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, newline="")
        return file

    def commit(self, *paths: str) -> str:
        """Commits paths, or everything that is not ignored; gives back the revision."""
        self.git("add", "--force" if paths else "--all", *(paths or ["."]))
        self.git("commit", "--quiet", "--message=x")
        return self.git("rev-parse", "HEAD")
