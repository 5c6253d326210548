"""Calls of the program `git` in untrusted repositories.

A repository's own configuration can name programs: hooks, file system monitors, filters, external diffs,
pagers, transports. None of them is run. Settings that could name one are overridden; and commands that read
files of the work tree run in a temporary repository, which borrows the objects and has no configuration at
all. Git is used for names, revisions and line numbers only: texts come from the root.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from ...agents.programs.process import with_limits
from ...models.errors import GitFailed

#: Maximum seconds of one call, and bytes of its output.
TIMEOUT_S = 120
MAX_ANSWER_BYTES = 268_435_456

_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.bigFileThreshold": "16m",
    "core.pager": "cat",
    "core.quotePath": "true",
    # A temporary repository borrows the objects, but does not have the branches that need them.
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
_FLAGS = (
    "--no-pager",
    "--no-optional-locks",
    "--no-replace-objects",
    "--literal-pathspecs",
    *(word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")),
)
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "",  # overrides the repository's own setting, so that git fetches no missing object
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "HOME": os.devnull,
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True)
class Git:
    """A repository, its work tree, and the folder in it that is queried."""

    git_dir: Path
    work_tree: Path
    folder: Path
    #: Additional environment variables, which may have a token.
    extra_environment: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def find(cls, folder: Path) -> Git | None:
        """Return the repository of a folder; None: it is in none.

        The search is done here and not by git, which would trust a `core.worktree` in its configuration.
        """
        whole = folder.resolve()
        for candidate in (whole, *whole.parents):
            if (candidate / ".git").exists():
                return cls(candidate / ".git", candidate, whole)
        return None

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return the output of git; `given` is its standard input. Raises GitFailed."""
        program = shutil.which("git")
        if program is None:
            raise GitFailed("git is not installed")
        command = [program, *_FLAGS, f"--git-dir={self.git_dir}", f"--work-tree={self.work_tree}", *arguments]
        with TemporaryFile() as out, TemporaryFile() as err:
            try:
                done = subprocess.run(
                    with_limits(command, {resource.RLIMIT_FSIZE: MAX_ANSWER_BYTES}),
                    cwd=self.folder,
                    env={
                        "PATH": os.pathsep.join(os.get_exec_path()),
                        **_ENVIRONMENT,
                        **self.extra_environment,
                    },
                    input=given,
                    stdout=out,
                    stderr=err,
                    timeout=TIMEOUT_S,
                    check=False,
                )
            except (OSError, subprocess.SubprocessError) as error:
                raise GitFailed(f"git {arguments[0]} failed: {_describe_failure(error)}") from None
            if done.returncode:
                err.seek(0)
                raise GitFailed(
                    f"git {arguments[0]} failed: {_first_error_line(err.read(4_096), done.returncode)}"
                )
            out.seek(0)
            return out.read()

    def names(self, *arguments: str) -> list[str]:
        """Return the output of git as names, each ended by a zero byte, relative to the folder."""
        return [os.fsdecode(name) for name in self.run(*arguments).split(b"\0") if name]

    def path_of(self, name: str) -> Path:
        """Return the path of a file or folder of the repository."""
        return self.folder / os.fsdecode(self.run("rev-parse", "--git-path", name).rstrip(b"\n"))

    @contextmanager
    def without_configuration(self) -> Iterator[Git]:
        """Yield a temporary repository with the same objects and work tree, and a separate index."""
        objects = self.path_of("objects")
        kind = self.run("rev-parse", "--show-object-format").decode().strip()
        with TemporaryDirectory(prefix="symposia-git-") as name:
            bare = Git(Path(name), self.work_tree, self.folder, {"GIT_OBJECT_DIRECTORY": str(objects)})
            for folder in ("objects", "refs"):
                (bare.git_dir / folder).mkdir()
            (bare.git_dir / "HEAD").write_text("ref: refs/heads/none\n")
            (bare.git_dir / "config").write_text(_config(kind))
            yield bare


def _config(object_format: str) -> str:
    """Return the configuration that git needs to read objects: their hash format."""
    if object_format == "sha1":
        return "[core]\n\trepositoryformatversion = 0\n"
    return f"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = {object_format}\n"


def _describe_failure(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no answer within {TIMEOUT_S} s"
    return getattr(error, "strerror", None) or type(error).__name__


def _first_error_line(printed: bytes, code: int) -> str:
    lines: Sequence[str] = printed.decode(errors="replace").splitlines()
    return lines[0] if lines else f"exit code {code}"
