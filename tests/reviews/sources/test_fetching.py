"""Update of a work tree to its remote before a scheduled review."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from symposia.models.errors import GitFailed, InvalidInput
from symposia.reviews.sources import fetching
from symposia.reviews.sources import git as source_git
from symposia.reviews.sources.git import Git


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", name)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    folder = tmp_path / "remote"
    folder.mkdir()
    git(folder, "init", "-qb", "main")
    commit(folder, "a.py", "x = 1\n")
    return folder


@pytest.fixture
def clone(tmp_path: Path, remote: Path) -> Path:
    git(tmp_path, "clone", "-q", str(remote), "clone")
    (tmp_path / "clone" / ".git" / "hooks" / "post-checkout").write_text("#!/bin/sh\ntouch hooked\n")
    return tmp_path / "clone"


def test_work_tree_follows_its_remote(remote: Path, clone: Path):
    newest = commit(remote, "b.py", "y = 2\n")
    assert fetching.update_branch(clone, token="secret") == newest
    assert (clone / "b.py").read_text() == "y = 2\n"
    assert (git(clone, "rev-parse", "HEAD"), git(clone, "status", "--porcelain")) == (newest, "")
    assert git(clone, "symbolic-ref", "--short", "HEAD") == "main"
    assert fetching.update_branch(clone, token=None) == newest, "again"
    assert not (clone / "hooked").exists()


@pytest.mark.parametrize("is_newer", [False, True])
def test_killed_update_is_continued(remote: Path, clone: Path, is_newer: bool):
    newest = commit(remote, "b.py", "y = 2\n")
    git(clone, "fetch", "-q")
    git(clone, "read-tree", "-m", "-u", "HEAD", newest)  # killed before `update-ref HEAD`
    newest = commit(remote, "c.py", "z = 3\n") if is_newer else newest
    assert fetching.update_branch(clone, token=None) == newest
    assert (git(clone, "rev-parse", "HEAD"), git(clone, "status", "--porcelain")) == (newest, "")


@pytest.mark.parametrize("case", ["changed", "added", "committed", "detached", "ssh", "gone"])
def test_work_tree_that_cannot_follow_is_named(remote: Path, clone: Path, case: str):
    before = commit(clone, "c.py", "z = 3\n") if case == "committed" else git(clone, "rev-parse", "HEAD")
    commit(remote, "b.py", "y = 2\n")
    if case == "changed":
        (clone / "a.py").write_text("mine\n")
    elif case == "added":
        (clone / "d.py").write_text("mine\n")
        git(clone, "add", "d.py")
    elif case == "detached":
        git(clone, "checkout", "-q", "--detach")
    elif case == "ssh":
        git(clone, "remote", "set-url", "origin", "git@host:a/b.git")
    elif case == "gone":
        git(clone, "remote", "set-url", "origin", str(remote / "nowhere"))
    with pytest.raises((InvalidInput, GitFailed)):
        fetching.update_branch(clone, token=None)
    assert git(clone, "rev-parse", "HEAD") == before
    assert not (clone / "b.py").exists()


def test_token_is_only_in_the_environment(clone: Path, monkeypatch):
    git(clone, "remote", "set-url", "origin", "https://name:password@127.0.0.1:1/a/b.git")
    calls: list[tuple[tuple[str, ...], dict[str, str]]] = []
    run = Git.run
    monkeypatch.setattr(
        Git,
        "run",
        lambda self, *args, **more: calls.append((args, self.extra_environment)) or run(self, *args, **more),
    )
    with pytest.raises(GitFailed) as failed:
        fetching.update_branch(clone, token="secret-token")
    assert "secret-token" not in str(failed.value)
    assert not any("secret-token" in word or "password" in word for args, _ in calls for word in args)
    ((_, environment),) = [call for call in calls if call[0][0] == "fetch"]
    assert "Authorization: Basic" in " ".join(environment.values())
    assert "secret" not in repr(Git(clone, clone, clone, environment))


def test_fetches_do_not_prune_the_clone(
    remote: Path, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(vars(source_git)["_ENVIRONMENT"], "GIT_TRACE", str(tmp_path / "trace"))
    commit(remote, "b.py", "y = 2\n")
    fetching.update_branch(clone, token=None)
    traced = (tmp_path / "trace").read_text()
    assert "built-in: git fetch" in traced
    assert not [line for line in traced.splitlines() if "maintenance run" in line or "git gc" in line]
