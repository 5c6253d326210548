"""Where reviewed files come from: the remote of a repository, read as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from review_tools.git_tree import GitTree
from symposia.models.errors import InvalidInput
from symposia.reviews.requests.files import request_for_files
from symposia.reviews.requests.roots import origin_of
from symposia.reviews.sources.repository import Repository


@pytest.fixture
def tree(tmp_path: Path) -> GitTree:
    tree = GitTree(tmp_path / "root")
    tree.put("docs/a.md", "Text.\n")
    tree.put("a.py", "x = 1\n")
    return tree


def test_origin_has_the_web_address_of_the_remote(tree: GitTree) -> None:
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
