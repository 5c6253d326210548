"""Where reviewed files come from, and what was reviewed since the last run that completed, by its git revision."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack

import pytest

from review_tools.git_tree import GitTree
from review_tools.values import a_run
from symposia.archive.archive import Archive
from symposia.models.errors import InvalidInput
from symposia.reviews.archive.store import ReviewReader
from symposia.reviews.archive.writer import ReviewWriter
from symposia.reviews.batches.request import ReviewRequest
from symposia.reviews.requests.files import HowToReview, request_for_files
from symposia.reviews.requests.roots import LAST, origin_of
from symposia.reviews.sources.repository import Repository
from symposia.reviews.values.runs import ReadItem, RunState
from symposia.workspace.sql.store import deliver_to_conversation


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    archive = Archive(f"sqlite:///{tmp_path / 'archive.sqlite3'}", deliver_to_conversation)
    archive.prepare()
    yield archive
    archive.close()


@pytest.fixture
def tree(tmp_path: Path) -> GitTree:
    tree = GitTree(tmp_path / "shop")
    tree.put("a.py", "1\n")
    tree.put("b.py", "1\n")
    tree.commit()
    return tree


def ran(tree: GitTree, archive: Archive, revision: str, state: RunState = RunState.COMPLETED) -> None:
    record(request_for_files([tree.folder]), archive, revision=revision, state=state)


def record(asked: ReviewRequest, archive: Archive, **values: Any) -> None:
    values = {"panel": "code", "scope": asked.scope, "revision": asked.revision} | values
    ReviewWriter(archive.database).write(a_run(root_name=asked.root_name, root=asked.root, **values))


def order(tree: GitTree, archive: Archive | None, **how: Unpack[HowToReview]) -> ReviewRequest:
    return request_for_files([tree.folder], archive=archive, since=LAST, **how)


def paths(order: ReviewRequest) -> list[str]:
    return [it.item.path for it in order.source if isinstance(it, ReadItem)]


def test_origin_has_the_web_address_of_the_remote(tree: GitTree) -> None:
    tree.put("docs/a.md", "Text.\n")
    revision = tree.commit()
    tree.git("remote", "add", "origin", "https://ann:secret@github.com/a/b.git")
    assert origin_of(Repository.find(tree.folder / "docs")) == {
        "revision": revision,
        "repository_url": "https://github.com/a/b",
        "repository_folder": "docs",
    }


@pytest.mark.parametrize("remote", ["ext::sh -c touch% ran", "/srv/b.git", "--upload-pack=touch ran"])
def test_other_remotes_have_no_web_address(tree: GitTree, remote: str) -> None:
    tree.git("config", "remote.origin.url", remote)
    assert origin_of(Repository.find(tree.folder))["repository_url"] == ""
    assert not (tree.folder / "ran").exists()


def test_included_configuration_is_not_read(tree: GitTree) -> None:
    other = tree.put("other", '[remote "origin"]\n\turl = https://github.com/a/b\n')
    tree.git("config", "include.path", str(other))
    assert origin_of(Repository.find(tree.folder))["repository_url"] == ""


def test_given_address_replaces_the_remote(tree: GitTree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.git("remote", "add", "origin", "https://github.com/a/b.git")
    monkeypatch.chdir(tree.folder)
    order = request_for_files(["a.py"], repository_url="git@gitlab.com:c/d.git")
    assert (order.repository_url, order.repository_folder) == ("https://gitlab.com/c/d", "")
    with pytest.raises(InvalidInput, match="repository_url: must be like https://host/owner/repository"):
        request_for_files(["a.py"], repository_url="somewhere")


def test_folder_without_a_repository_has_no_origin(tmp_path: Path) -> None:
    assert origin_of(Repository.find(tmp_path)) == {"repository_url": ""}


def test_everything_is_new_in_the_first_run(tree, archive):
    first = order(tree, archive)
    assert (paths(first), first.is_whole) == (["a.py", "b.py"], True)
    assert first.revision == tree.git("rev-parse", "HEAD")


def test_since_last_reviews_only_new_changes(tree, archive):
    ran(tree, archive, tree.git("rev-parse", "HEAD"))
    tree.put("a.py", "2\n")
    ran(tree, archive, tree.commit(), RunState.PARTIAL)
    tree.put("c.py", "1\n")
    second = order(tree, archive)
    assert (paths(second), second.is_whole) == (["a.py", "c.py"], False)


@pytest.mark.long
@pytest.mark.parametrize(
    "other",
    [{"include": ["a.py"]}, {"exclude": ["b.py"]}, {"base": "main"}, {"branch": "other"}, {"since": "HEAD"}],
    ids=lambda it: next(iter(it)),
)
def test_last_run_of_another_scope_does_not_count(tree, archive, other):
    record(request_for_files([tree.folder], **other), archive)
    assert paths(order(tree, archive)) == ["a.py", "b.py"]


def test_last_run_of_one_file_does_not_count(tree, archive):
    record(request_for_files([tree.folder / "a.py"], root_name="shop"), archive)
    assert paths(order(tree, archive, root_name="shop")) == ["a.py", "b.py"]


def test_last_run_without_the_model_does_not_count(tree, archive):
    record(request_for_files([tree.folder]), archive)
    assert paths(order(tree, archive)) == []
    assert paths(order(tree, archive, model="house")) == ["a.py", "b.py"]


def test_review_since_the_last_one_is_continued_itself(tree, archive):
    record(order(tree, archive), archive)
    tree.put("a.py", "2\n")
    tree.commit()
    second = order(tree, archive)
    record(second, archive)
    assert (paths(second), paths(order(tree, archive))) == (["a.py"], [])


def test_rewritten_history_makes_everything_new(tree, archive):
    ran(tree, archive, "0123456789012345678901234567890123456789")
    assert paths(order(tree, archive)) == ["a.py", "b.py"]


def test_last_run_needs_an_archive(tree):
    with pytest.raises(
        InvalidInput, match="since: must be a git revision: `last` requires the archive, which is disabled"
    ):
        order(tree, None)


def test_folders_of_the_same_name_are_not_compared(tree, archive, tmp_path):
    ran(tree, archive, tree.git("rev-parse", "HEAD"))
    other = GitTree(tmp_path / "elsewhere" / "shop")
    other.put("a.py", "1\n")
    other.commit()
    mine, theirs = request_for_files([tree.folder]), request_for_files([other.folder])
    assert mine.root_name == theirs.root_name == "shop"
    assert mine.root == request_for_files([tree.folder / "a.py"]).root
    assert mine.root != theirs.root
    assert ReviewReader(archive.database).last_revision(theirs.root, "code", theirs.scope) is None
    assert ReviewReader(archive.database).last_revision(mine.root, "code", mine.scope) == mine.revision
    assert str(tmp_path) not in mine.root


def test_named_root_keeps_its_identity_when_moved(tree, tmp_path):
    named = [request_for_files([it], root_name="shop") for it in (tree.folder, tmp_path)]
    assert {it.root for it in named} == {"shop"}


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 101, "archived sessions"])
def test_invalid_root_name_is_refused(tree, name):
    with pytest.raises(InvalidInput, match="root_name: must be"):
        request_for_files([tree.folder], root_name=name)
