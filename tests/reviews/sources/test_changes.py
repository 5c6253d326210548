"""Changed files and lines of a git repository, without running any program of the repository."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from review_tools.git_tree import GitTree
from symposia.models.errors import GitFailed, InvalidInput
from symposia.reviews.sources import git
from symposia.reviews.sources.diff import read_hunks
from symposia.reviews.sources.files import FileSelection, FileSource
from symposia.reviews.sources.repository import Repository
from symposia.reviews.sources.sandboxed_folder import LINK, NOT_A_FILE
from symposia.reviews.values.changes import Hunk, text_before
from symposia.reviews.values.runs import ItemKind, ReadItem, SkippedItem

TOO_LARGE = "larger than 262,144 bytes"
TEN = "".join(f"line {at}\n" for at in range(1, 11))


@pytest.fixture
def tree(tmp_path: Path) -> GitTree:
    """A repository with three files of ten lines in one commit."""
    tree = GitTree(tmp_path / "root")
    for name in ("a.py", "b.py", "sub/c.py"):
        tree.put(name, TEN)
    tree.commit()
    return tree


def changes(tree: GitTree, folder: str = ".", **chosen: object) -> dict[str, object]:
    """Changed lines by path."""
    found = list(FileSource(tree.folder / folder, FileSelection(**chosen)))
    assert all(it.item.is_change for it in found if isinstance(it, ReadItem))
    return {it.item.path if isinstance(it, ReadItem) else it.path: _lines(it) for it in found}


def _lines(it: ReadItem | SkippedItem) -> object:
    return it.item.changed if isinstance(it, ReadItem) else it.reason


def test_clean_tree_has_no_changes(tree):
    assert changes(tree, since="HEAD") == {}


def test_committed_staged_and_unstaged_changes_count(tree):
    before = tree.git("rev-parse", "HEAD")
    tree.put("a.py", TEN.replace("line 3\n", "three\n"))
    tree.commit()
    tree.put("b.py", TEN + "line 11\nline 12\n")
    tree.git("add", "b.py")
    tree.put("sub/c.py", "line 0\n" + TEN)
    tree.put("new.py", "1\n")
    everything = {"a.py": ((3, 3),), "b.py": ((11, 12),), "new.py": None, "sub/c.py": ((1, 1),)}
    assert changes(tree, since=before) == changes(tree, since="HEAD~1") == everything
    assert set(changes(tree, since="HEAD")) == {"b.py", "new.py", "sub/c.py"}
    assert changes(tree, "sub", since=before) == {"c.py": ((1, 1),)}
    assert changes(tree, since=before, include=["*.py"], exclude=["sub"], paths=["sub", "a.py"]) == {
        "a.py": ((3, 3),)
    }


def test_renamed_files_have_their_earlier_path(tree):
    tree.put("a.py", "first\n" * 9)
    tree.commit()
    before = tree.git("rev-parse", "HEAD")
    tree.git("mv", "a.py", "ä moved.py")
    tree.git("mv", "sub/c.py", "sub/d.py")
    tree.commit()
    (top, below) = FileSource(tree.folder, FileSelection(since=before))
    assert {it.item.path: it.item.renamed_from for it in (top, below)} == {
        "ä moved.py": "a.py",
        "sub/d.py": "sub/c.py",
    }
    assert (top.item.kind, top.item.changed, top.hunks) == (ItemKind.RENAMED, (), ())
    (inside,) = FileSource(tree.folder / "sub", FileSelection(since=before))
    assert inside.item.renamed_from == "c.py"


def test_copied_file_has_no_earlier_path(tree):
    before = tree.git("rev-parse", "HEAD")
    tree.git("mv", "a.py", "moved.py")
    tree.commit()
    tree.put("a.py", TEN)
    assert all(not it.item.renamed_from for it in FileSource(tree.folder, FileSelection(since=before)))


def test_deleted_lines_are_named_by_the_line_before(tree):
    tree.put("a.py", TEN.replace("line 5\nline 6\n", ""))
    tree.put("b.py", TEN.replace("line 1\n", ""))
    assert changes(tree, since="HEAD") == {"a.py": ((4, 4),), "b.py": ((1, 1),)}
    (read, _) = FileSource(tree.folder, FileSelection(since="HEAD"))
    assert (read.item.removed, read.hunks) == (((5, 6),), (Hunk(5, 2, ("line 5", "line 6"), 5, 0),))
    assert text_before(read.text.split("\n"), read.hunks) == TEN.split("\n")


def test_lines_of_a_renamed_file_are_compared_with_its_earlier_path(tree):
    before = tree.git("rev-parse", "HEAD")
    tree.git("mv", "sub/c.py", "sub/ä d.py")
    tree.commit()
    tree.put("sub/ä d.py", TEN.replace("line 3\n", "three\n"))
    for folder in (tree.folder, tree.folder / "sub"):
        (read,) = FileSource(folder, FileSelection(since=before))
        assert (read.item.kind, read.hunks) == (ItemKind.RENAMED, (Hunk(3, 1, ("line 3",), 3, 1),))


def test_deleted_file_is_an_item_with_its_last_text(tree):
    tree.put("binary.py", "x\0y")
    tree.put("empty.py", "")
    tree.commit()
    for name in ("sub/c.py", "binary.py", "empty.py"):
        (tree.folder / name).unlink()
    (deleted, *skipped) = sorted(
        FileSource(tree.folder, FileSelection(since="HEAD")), key=lambda entry: isinstance(entry, SkippedItem)
    )
    assert (deleted.item.path, deleted.item.kind, deleted.text) == ("sub/c.py", ItemKind.DELETED, TEN)
    assert (deleted.item.changed, deleted.item.removed) == (((1, 1),), ((1, 10),))
    assert {it.path: it.reason for it in skipped} == dict.fromkeys(
        ("binary.py", "empty.py"), "deleted: its content is empty or no text"
    )
    for chosen in ({"paths": ["a.py"]}, {"include": ["*.md"]}, {"exclude": ["*.py"]}):
        assert changes(tree, since="HEAD", **chosen) == {}
    assert list(changes(tree, since="HEAD", paths=["./sub/"])) == ["sub/c.py"]


def test_changed_file_without_compared_lines_is_new(tree):
    tree.put("sub/d.py", "x\0")
    tree.commit()
    before = tree.git("rev-parse", "HEAD")
    tree.put(".gitattributes", "*.py -diff\n")
    tree.put("a.py", TEN + "line 11\n")
    tree.git("mv", "sub/c.py", "sub/e.py")
    tree.commit()
    (tree.folder / "b.py").unlink()
    tree.put("sub/e.py", TEN + "line 11\n")
    (tree.folder / "sub/d.py").write_bytes(TEN.encode("utf-16"))
    unseen = {"a.py": None, "b.py": "deleted: its content is empty or no text"}
    unseen |= {"sub/d.py": None, "sub/e.py": None}
    assert changes(tree, since=before, exclude=[".git*"]) == unseen


def test_deleted_generated_files_are_left_out(tree):
    tree.put(".gitattributes", "own/* linguist-generated\nlib_pb2.py -linguist-generated\n")
    names = ("uv.lock", "vendor/a.py", "own/a.py", "lib_pb2.py", "node_modules/a.js")
    for name in names:
        tree.put(name, TEN)
    tree.put("made.py", f"# Generated by make. DO NOT EDIT.\n{TEN}")
    tree.commit()
    for name in (*names, "made.py"):
        (tree.folder / name).unlink()
    assert changes(tree, since="HEAD") == {
        "lib_pb2.py": ((1, 1),),
        "made.py": "generated: its first lines say so",
        "own/a.py": "generated: .gitattributes",
        "uv.lock": "generated: lock file",
        "vendor/a.py": "vendored: by its folder",
    }
    assert changes(tree, since="HEAD", paths=["uv.lock"]) == {"uv.lock": ((1, 1),)}


def test_files_that_are_not_checked_out_are_not_deleted(tree):
    before = tree.git("rev-parse", "HEAD")
    tree.git("rm", "--quiet", "a.py")
    tree.commit()
    (tree.folder / "b.py").unlink()
    tree.git("update-index", "--skip-worktree", "sub/c.py")
    (tree.folder / "sub/c.py").unlink()
    assert set(changes(tree, since=before)) == {"a.py", "b.py"}


def test_commit_messages_are_read_without_programs_of_the_repository(tree):
    before = tree.git("rev-parse", "HEAD")
    tree.git("config", "log.showSignature", "true")
    tree.git("config", "gpg.program", "/does/not/exist")
    for message in ("First\n\nWhy: é", "Second"):
        tree.git("commit", "--quiet", "--allow-empty", "--message", message)
    repository = Repository.find(tree.folder)
    assert repository.commit_messages(before) == ("First\n\nWhy: é", "Second")
    assert repository.commit_messages(tree.git("rev-parse", "HEAD")) == ()


def test_branch_is_compared_with_its_merge_base(tree):
    tree.git("switch", "--quiet", "--create", "topic")
    tree.put("a.py", TEN + "mine\n")
    tree.commit()
    tree.git("switch", "--quiet", "main")
    tree.put("b.py", TEN + "theirs\n")
    tree.commit()
    tree.git("switch", "--quiet", "topic")
    assert changes(tree, base="main") == {"a.py": ((11, 11),)}
    assert set(changes(tree, since="main")) == {"a.py", "b.py"}


def test_ignored_files_are_no_changes_unless_tracked(tree):
    tree.put(".gitignore", "*.log\n")
    tree.put("a.log", "1")
    tree.put("b.log", "1")
    tree.git("add", "--force", "b.log")
    assert changes(tree, since="HEAD") == {".gitignore": None, "b.log": None}


@pytest.mark.parametrize("name", ["ä ö.py", 'quo"te\\.py', "-rf.py", "a b.py", "@@ -1 +1 @@.py", "+++ b.py"])
def test_change_is_found_under_any_file_name(tree, name):
    tree.put(name, TEN)
    tree.commit()
    tree.put(name, TEN + "more\n")
    assert changes(tree, since="HEAD") == {name: ((11, 11),)}


def test_lines_like_a_diff_are_content(tree):
    tree.put("a.py", TEN + "x\n")
    tree.put("b.py", "-- a/z.py\n" + TEN)
    tree.commit()
    tree.put("a.py", "++ b/b.py\n@@ -1 +99 @@\ndiff --git a/x b/x\n" + TEN + "y\n")
    tree.put("b.py", "no newline at the end\n" + TEN.rstrip("\n"))
    assert changes(tree, since="HEAD") == {"a.py": ((1, 3), (14, 14)), "b.py": ((1, 1), (11, 11))}


def test_file_replaced_by_a_trap_is_reported(tree):
    for name in ("a.py", "b.py"):
        (tree.folder / name).unlink()
    (tree.folder / "a.py").symlink_to("/etc/passwd")
    os.mkfifo(tree.folder / "b.py")
    with (tree.folder / "sub/c.py").open("wb") as file:
        file.truncate(1 << 30)
    assert changes(tree, since="HEAD") == {"a.py": LINK, "b.py": NOT_A_FILE, "sub/c.py": TOO_LARGE}


@pytest.mark.parametrize(
    "revision", ["nothing", "--output=x", "-p", "HEAD:a.py", "main\0", "", "HEAD..main", "x" * 300]
)
def test_unknown_revision_is_refused(tree, revision):
    repository = Repository.find(tree.folder)
    with pytest.raises(InvalidInput, match="since: must be a commit of the repository"):
        repository.resolve_commit(revision, field="since")
    assert not repository.has_commit(revision)
    assert not (tree.folder / "x").exists()


def test_branches_without_a_common_commit_are_refused(tree):
    tree.git("switch", "--quiet", "--orphan", "other")
    tree.put("z.py", "1")
    tree.commit()
    with pytest.raises(InvalidInput, match=r"base: must have a merge base \(common commit\) with HEAD"):
        changes(tree, base="main")


def test_revision_is_known_after_the_first_commit(tmp_path, tree):
    assert Repository.find(tree.folder).head() == tree.git("rev-parse", "HEAD")
    assert Repository.find(GitTree(tmp_path / "new").folder).head() == ""
    assert Repository.find(tmp_path) is None


def test_worktrees_and_sha256_repositories_are_read(tmp_path, tree):
    tree.git("worktree", "add", "--quiet", str(tmp_path / "side"))
    (tmp_path / "side" / "a.py").write_text(TEN + "more\n")
    assert {it.item.path for it in FileSource(tmp_path / "side", FileSelection(since="HEAD"))} == {"a.py"}
    other = GitTree(tmp_path / "sha256", "--object-format=sha256")
    other.put("a.py", TEN)
    other.commit()
    other.put("a.py", TEN + "more\n")
    assert changes(other, since="HEAD") == {"a.py": ((11, 11),)}


def plant(tree: GitTree, marker: Path) -> None:
    """Has the repository name a program wherever git takes one."""
    program = tree.folder / ".git" / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {marker}\ncat\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    hooks = tree.folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
        (hooks / hook).symlink_to(program)
    driven = ("filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.command", "diff.x.textconv")
    settings = {
        **dict.fromkeys(("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand"), program),
        **dict.fromkeys(("core.gitProxy", "diff.external", "credential.helper", "gpg.program"), program),
        **dict.fromkeys(
            (*driven, "merge.x.driver", "core.alternateRefsCommand", "uploadpack.packObjectsHook"), program
        ),
        "pager.diff": program,
        "pager.ls-files": program,
        "alias.diff": f"!{program}",
        "core.hooksPath": hooks,
        "filter.x.required": "true",
        "diff.trustExitCode": "true",
        "remote.origin.url": f"ext::{program}",
        "protocol.ext.allow": "always",
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "remote.origin.uploadpack": program,
    }
    for name, value in settings.items():
        tree.git("config", name, str(value))
    (tree.folder / ".git" / "info").mkdir(exist_ok=True)
    (tree.folder / ".git" / "info" / "attributes").write_text("* filter=x diff=x merge=x\n")


def test_programs_named_by_a_repository_are_not_run(tree, tmp_path):
    marker = tmp_path / "ran"
    tree.put(".gitattributes", "* filter=x diff=x merge=x\n")
    before = tree.commit()
    tree.put("a.py", TEN + "more\n")
    plant(tree, marker)
    assert changes(tree, since=before) == changes(tree, base="main") == {"a.py": ((11, 11),)}
    found = {it.item.path for it in FileSource(tree.folder)}
    assert found == {".gitattributes", "a.py", "b.py", "sub/c.py"}
    repository = Repository.find(tree.folder)
    with pytest.raises(InvalidInput):  # it would have to be fetched
        repository.resolve_commit("0123456789012345678901234567890123456789", field="since")
    assert not marker.exists()
    # The plain program does run them, so the trap is one.
    subprocess.run(["git", "diff", before], cwd=tree.folder, check=False, capture_output=True)
    assert marker.exists()


def test_missing_git_objects_are_not_fetched(tree, tmp_path):
    marker = tmp_path / "ran"
    (blob,) = tree.git("ls-tree", "--object-only", "HEAD", "a.py").split()
    tree.put("a.py", TEN + "more\n")
    plant(tree, marker)
    (tree.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(GitFailed, match="git diff failed"):
        changes(tree, since="HEAD")
    assert not marker.exists()


def test_worktree_setting_of_a_repository_is_ignored(tree, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.py").write_text("the secret")
    tree.git("config", "core.worktree", str(tmp_path / "outside"))
    assert [it.item.path for it in FileSource(tree.folder)] == ["a.py", "b.py", "sub/c.py"]
    assert changes(tree, since="HEAD") == {}


def test_git_configuration_is_ignored(tree, monkeypatch, tmp_path):
    (tmp_path / "config").write_text("[core]\n\texcludesFile = /proc/self/exe\n[diff]\n\tnoprefix = true\n")
    for name, value in {
        "GIT_CONFIG_GLOBAL": tmp_path / "config",
        "GIT_DIR": tmp_path,
        "GIT_INDEX_FILE": tmp_path / "index",
        "GIT_EXTERNAL_DIFF": "false",
        "GIT_TRACE": tmp_path / "trace",
    }.items():
        monkeypatch.setenv(name, str(value))
    tree_changes = tree.put("a.py", TEN + "more\n")
    assert tree_changes.exists()
    assert changes(tree, since="HEAD") == {"a.py": ((11, 11),)}
    assert not (tmp_path / "trace").exists()


def test_missing_git_is_reported(tree, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    first, *others = FileSource(tree.folder)
    assert first == SkippedItem(
        path=".gitignore", reason="git is not installed; files that git ignores are reviewed as well"
    )
    assert [it.item.path for it in others] == ["a.py", "b.py", "sub/c.py"]
    with pytest.raises(InvalidInput, match="since"):
        changes(tree, since="HEAD")


def test_git_calls_have_a_timeout(tree, monkeypatch):
    os.mkfifo(tree.folder / ".git" / "fifo")
    with (tree.folder / ".git" / "config").open("a") as config:
        config.write("[include]\n\tpath = fifo\n")
    monkeypatch.setattr(git, "TIMEOUT_S", 0.3)
    with pytest.raises(GitFailed, match=r"git ls-files failed: no answer within 0\.3 s"):
        Repository.find(tree.folder).ignored()


def test_invalid_diff_has_no_lines():
    assert read_hunks(b"") == read_hunks(b"@@ -1 +1 @@\n+x") == {}
    assert read_hunks(b"diff --git a/x b/x\nBinary files a/x and b/x differ\n") == {}
