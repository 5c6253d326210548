"""What a git repository knows of a folder in it: what is ignored, which revision it is at, what has changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...models.errors import GitFailed, InvalidInput
from .git import Git
from .hunks import changed_lines
from .source import Ranges

#: Bytes of a file that is not held against what it was: it counts as new.
_LARGE = 67_108_864
_DIFF = (
    "--unified=0",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--ignore-submodules=all",
)
_PREFIXES = ("--relative", "--src-prefix=a/", "--dst-prefix=b/")


@dataclass(frozen=True, slots=True)
class Changes:
    """How the files of a work tree differ from a revision. Paths are relative to the folder asked about."""

    #: Files that the revision has.
    known: frozenset[str]
    #: Those of them that have changed, with their changed lines.
    changed: Mapping[str, Ranges]

    def has(self, path: str) -> bool:
        """Whether a file is new or has changed."""
        return path not in self.known or path in self.changed

    def lines(self, path: str) -> Ranges:
        """The changed lines of a file; None: all, it is new."""
        return self.changed.get(path)


def _is_trap(file: Path) -> bool:
    """Whether git would give up over what is now in a file's place, or read for minutes."""
    try:
        found = file.lstat()
    except OSError:
        return False
    is_usual = stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode) or stat.S_ISDIR(found.st_mode)
    return not is_usual or found.st_size > _LARGE


class Repository:
    """Answers about one folder. Raises GitFailed from every method."""

    def __init__(self, git: Git) -> None:
        self._git = git

    @classmethod
    def around(cls, folder: Path) -> Repository | None:
        """The repository that a folder is in; None: in none."""
        git = Git.around(folder)
        return None if git is None else cls(git)

    def ignored(self) -> frozenset[str]:
        """What `.gitignore` and `.git/info/exclude` leave out: files, and whole folders with a `/` behind them."""
        return frozenset(
            self._git.names("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
        )

    def head(self) -> str:
        """The revision that is checked out; empty: there is none yet."""
        try:
            return self._commit("HEAD")
        except GitFailed:
            return ""

    def has(self, revision: str) -> bool:
        """Whether it names a commit that is (still) there."""
        try:
            self.commit(revision, field="since")
        except InvalidInput:
            return False
        return True

    def commit(self, revision: str, *, field: str) -> str:
        """The full name of a commit. Raises InvalidInput when `revision` names none."""
        try:
            if revision.startswith("-") or "\0" in revision:
                raise GitFailed
            return self._commit(revision)
        except GitFailed:
            rule = "must name a commit of the repository, such as HEAD~3, main or a hash"
            raise InvalidInput(field, revision, rule) from None

    def fork_point(self, base: str) -> str:
        """The commit at which the checked-out branch left another. Raises InvalidInput when there is none."""
        commit = self.commit(base, field="base")
        try:
            return self._git.run("merge-base", commit, "HEAD").decode().strip()
        except GitFailed:
            raise InvalidInput("base", base, "must share a commit with what is checked out") from None

    def changes(self, since: str) -> Changes:
        """How the work tree differs from the commit `since`, committed or not."""
        with self._git.without_configuration() as git:
            git.run("read-tree", since)
            known = frozenset(git.names("ls-files", "-z", "--cached"))
            unread = frozenset(name for name in known if _is_trap(git.folder / name))
            if unread:
                names = b"".join(os.fsencode(name) + b"\0" for name in unread)
                git.run("update-index", "--force-remove", "-z", "--stdin", given=names)
            return Changes(known - unread, changed_lines(git.run("diff", *_DIFF, *_PREFIXES)))

    def _commit(self, revision: str) -> str:
        named = f"{revision}^{{commit}}"
        return self._git.run("rev-parse", "--verify", "--quiet", "--end-of-options", named).decode().strip()
