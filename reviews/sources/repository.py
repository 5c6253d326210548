"""Queries about a folder in a git repository: ignored files, checked-out revision, changes and commits."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...models.errors import GitFailed, InvalidInput
from ..values.changes import MAX_COMMITS, Hunk
from ..values.code_links import web_address
from .diff import read_hunks
from .git import Git

#: Minimum bytes of a file that is not compared with its old content and counts as new.
_LARGE = 67_108_864
_DIFF = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--ignore-submodules=all",
)
#: Maximum renamed files whose lines are compared; all lines of the others count as new.
_MAX_RENAMES = 500
#: Files that git moved between two commits. With more than 1,000 candidates, git does not compare contents.
_RENAMES = (
    *("--name-status", "-z", "--find-renames", "-l1000", "--diff-filter=R", "--relative"),
    *("--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
)
_PATCH = ("--unified=0", "--relative", "--src-prefix=a/", "--dst-prefix=b/")
#: Beginning of the line of a diff, and of `--numstat`, for a changed file whose lines git does not compare.
_BINARY, _NO_COUNTS = b"\nBinary files ", "-\t-\t"
#: Tag of `git ls-files -t` for a file that is not checked out.
_NOT_CHECKED_OUT = "S "


@dataclass(frozen=True, slots=True)
class Changes:
    """Differences between a work tree and a revision; paths are relative to the queried folder."""

    #: Files in the revision.
    known: frozenset[str]
    #: Changed lines of the changed, renamed and deleted files; None: git compares no lines of the file. A file that is
    #: not among them is new.
    hunks: Mapping[str, tuple[Hunk, ...] | None]
    #: Earlier names of files that were renamed in a commit since then, by their names.
    renames: Mapping[str, str] = field(default_factory=dict)
    #: Files of the revision that are neither there now nor renamed.
    deleted: tuple[str, ...] = ()

    def has_changed(self, path: str) -> bool:
        """Return whether a file is new or has changed."""
        return path not in self.known or path in self.hunks


def _is_unsafe_to_diff(file: Path) -> bool:
    """Return whether git would fail on the current file, or read it for minutes."""
    try:
        status = file.lstat()
    except OSError:
        return False
    is_usual = stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return not is_usual or status.st_size > _LARGE


def _renames(git: Git, since: str, head: str) -> dict[str, str]:
    """Return the earlier names of files that were renamed between two commits, by their names."""
    # Three parts each: the status, the earlier name, the name.
    names = git.names("diff", *_RENAMES, since, head)
    pairs = zip(names[1::3], names[2::3], strict=True)
    return {new: old for old, new in pairs if not os.path.lexists(git.folder / old)}


def _changed_lines(git: Git) -> dict[str, tuple[Hunk, ...] | None]:
    """Return the changed lines of files; None for a changed file that git takes for binary."""
    diff = git.run("diff", *_DIFF, *_PATCH)
    hunks: dict[str, tuple[Hunk, ...] | None] = {**read_hunks(diff)}
    if _BINARY in diff:
        counts = git.names("diff", *_DIFF, "--numstat", "-z", "--relative")
        hunks |= {name.removeprefix(_NO_COUNTS): None for name in counts if name.startswith(_NO_COUNTS)}
    return hunks


class Repository:
    """Queries about one folder. Every method raises GitFailed."""

    def __init__(self, git: Git) -> None:
        self._git = git

    @classmethod
    def find(cls, folder: Path) -> Repository | None:
        """Return the repository of a folder; None: it is in none."""
        git = Git.find(folder)
        return None if git is None else cls(git)

    def ignored(self) -> frozenset[str]:
        """Return paths that `.gitignore` and `.git/info/exclude` exclude; whole folders end with `/`."""
        return frozenset(
            self._git.names("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
        )

    def attributes(self, paths: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the attributes of paths that `.gitattributes` files of the work tree set, by path and name."""
        if not paths:
            return {}
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        with self._git.without_configuration() as git:
            parts = os.fsdecode(git.run("check-attr", "-z", "--stdin", *names, given=given)).split("\0")
        found: dict[str, dict[str, str]] = {}
        for path, name, value in zip(parts[0::3], parts[1::3], parts[2::3], strict=False):
            if value != "unspecified":
                found.setdefault(path, {})[name] = value
        return found

    def head(self) -> str:
        """Return the checked-out revision; empty: there is none yet."""
        try:
            return self._commit("HEAD")
        except GitFailed:
            return ""

    def web_address(self) -> str:
        """Return the web address of the remote `origin`; empty: there is none, or it has no web address."""
        try:
            remote = self._git.run("config", "--local", "--no-includes", "--get", "remote.origin.url")
        except GitFailed:
            return ""
        return web_address(remote.decode(errors="replace").strip())

    @property
    def folder(self) -> str:
        """The queried folder relative to the repository; empty: the repository itself."""
        inside = self._git.folder.relative_to(self._git.work_tree).as_posix()
        return "" if inside == "." else inside

    def branch(self) -> str:
        """Return the checked-out branch; empty: a commit is checked out, or git failed."""
        try:
            return (
                self._git.run("symbolic-ref", "--quiet", "--short", "HEAD").decode("utf-8", "replace").strip()
            )
        except GitFailed:
            return ""

    def has_commit(self, revision: str) -> bool:
        """Return whether it names an existing commit."""
        try:
            self.resolve_commit(revision, field="since")
        except InvalidInput:
            return False
        return True

    def resolve_commit(self, revision: str, *, field: str) -> str:
        """Return the full name of a commit. Raises InvalidInput: `revision` names no commit."""
        try:
            if revision.startswith("-") or "\0" in revision:
                raise GitFailed
            return self._commit(revision)
        except GitFailed:
            rule = "must be a commit of the repository, such as HEAD~3, main or a hash"
            raise InvalidInput(field, revision, rule) from None

    def fork_point(self, base: str) -> str:
        """Return the merge base of the checked-out branch and `base`. Raises InvalidInput: there is none."""
        commit = self.resolve_commit(base, field="base")
        try:
            return self._git.run("merge-base", commit, "HEAD").decode().strip()
        except GitFailed:
            raise InvalidInput("base", base, "must have a merge base (common commit) with HEAD") from None

    def changes(self, since: str) -> Changes:
        """Return the differences between the work tree and the commit `since`, committed or not."""
        with self._git.without_configuration() as git:
            git.run("read-tree", since)
            tracked = frozenset(git.names("ls-files", "-z", "--cached"))
            unread = frozenset(name for name in tracked if _is_unsafe_to_diff(git.folder / name))
            if unread:
                names = b"".join(os.fsencode(name) + b"\0" for name in unread)
                git.run("update-index", "--force-remove", "-z", "--stdin", given=names)
            hunks = _changed_lines(git)
            head = self.head()
            renames = _renames(git, since, head) if head else {}
            for name, old in [*renames.items()][:_MAX_RENAMES]:
                if not _is_unsafe_to_diff(git.folder / name):
                    compared = git.run("diff", *_DIFF, *_PATCH, f"{since}:./{old}", "--", name)
                    hunks[name] = None if _BINARY in compared else read_hunks(compared).get(name, ())
            gone = {name for name in tracked - unread if not os.path.lexists(git.folder / name)}
            gone = gone.difference(renames.values())
            deleted = sorted(gone - self._not_checked_out() if gone else gone)
            return Changes(tracked - unread, hunks, renames, tuple(deleted))

    def _not_checked_out(self) -> frozenset[str]:
        """Return the files that a sparse checkout leaves out."""
        tagged = self._git.names("ls-files", "-t", "-z")
        return frozenset(
            name.removeprefix(_NOT_CHECKED_OUT) for name in tagged if name.startswith(_NOT_CHECKED_OUT)
        )

    def commit_messages(self, since: str) -> tuple[str, ...]:
        """Return the messages of the newest commits after the commit `since`, the oldest first. Raises GitFailed."""
        head = self.head()
        if not head:
            return ()
        with self._git.without_configuration() as git:
            log = git.run("log", f"--max-count={MAX_COMMITS}", "--format=%B%x00", f"{since}..{head}")
        messages = [message.strip() for message in log.decode(errors="replace").split("\0")]
        return tuple(reversed([message for message in messages if message]))

    def _commit(self, revision: str) -> str:
        named = f"{revision}^{{commit}}"
        return self._git.run("rev-parse", "--verify", "--quiet", "--end-of-options", named).decode().strip()
