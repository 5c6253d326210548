"""Files below a root: the selected ones, and the reasons of the skipped ones."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from review_tools.git_tree import GitTree
from symposia.models.errors import InvalidInput
from symposia.reviews.sources.files import FileSelection, FileSource
from symposia.reviews.sources.sandboxed_folder import LINK, NOT_A_FILE, UNPRINTABLE
from symposia.reviews.sources.source import SourceLimits
from symposia.reviews.values.runs import ItemKind, ReadItem, SkippedItem


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A root that is in no repository."""
    return tmp_path / "root"


def put(folder: Path, **files: str | bytes) -> None:
    """Writes files `NAME.py`; `__` in a name is a `/`."""
    for name, text in files.items():
        file = folder / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)


def given(
    folder: Path, caps: SourceLimits | None = None, **chosen: object
) -> tuple[dict[str, str], dict[str, str]]:
    """Texts by path, and reasons by path."""
    found = list(FileSource(folder, FileSelection(**chosen), caps or SourceLimits()))
    texts = {it.item.path: it.text for it in found if isinstance(it, ReadItem)}
    reasons = {it.path: it.reason for it in found if isinstance(it, SkippedItem)}
    assert len(texts) + len(reasons) == len(found), "something was given twice"
    return texts, reasons


def test_an_item_is_its_path_and_the_hash_of_its_text(folder):
    put(folder, a__b="x = 'ä'\n")
    (read,) = FileSource(folder)
    data = "x = 'ä'\n".encode()
    assert (read.item.key, read.item.path, read.item.kind) == ("a/b.py", "a/b.py", ItemKind.FILE)
    assert (read.item.sha256, read.item.size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert read.item.changed is None


def test_source_is_read_each_time(folder):
    put(folder, a="1")
    source = FileSource(folder)
    assert [it.text for it in source] == ["1"]
    put(folder, a="2")
    assert [it.text for it in source] == ["2"]


def test_paths_and_patterns_select_files(folder):
    put(folder, a="1", b="2", x__a="3", x__b="4", y__a="5")
    assert list(given(folder, paths=["x", "b.py"])[0]) == ["x/a.py", "x/b.py", "b.py"]
    assert list(given(folder, paths=["x/", "./x/a.py", "."])[0]) == [
        "x/a.py",
        "x/b.py",
        "a.py",
        "b.py",
        "y/a.py",
    ]
    assert list(given(folder, include=["a.py"])[0]) == ["a.py", "x/a.py", "y/a.py"]
    assert list(given(folder, include=["*.py"], exclude=["x", "/a.py"])[0]) == ["b.py", "y/a.py"]


def test_path_outside_the_root_is_not_read(folder):
    put(folder, a="1")
    put(folder.parent, secret="the secret")
    texts, reasons = given(folder, paths=["../secret.py", "..", str(folder.parent / "secret.py"), "gone.py"])
    assert texts == {}
    assert list(reasons) == ["../secret.py", "..", str(folder.parent / "secret.py"), "gone.py"]


def test_binary_file_is_skipped_with_the_reason(folder):
    put(
        folder,
        nul=b"a\0b",
        latin=b"caf\xe9",
        utf16="x".encode("utf-16"),
        nothing="",
        blank=" \n",
        bom="\ufeffx",
    )
    texts, reasons = given(folder)
    assert texts == {"bom.py": "x", "utf16.py": "x"}
    assert reasons == {
        "blank.py": "empty",
        "latin.py": "not UTF-8 from byte 3",
        "nothing.py": "empty",
        "nul.py": "binary",
    }


def test_traps_in_a_root_are_skipped_with_reasons(folder):
    """Links out, names of dots and of new lines, a FIFO, a sparse gigabyte, text that is none."""
    put(folder, good="x = 1", bad=b"\xff\xfe\xff")
    put(folder.parent, secret="the secret")
    (folder / "out").symlink_to("..")
    (folder / "out.txt").symlink_to("..")
    (folder / "out.py").symlink_to("../secret.py")
    (folder / "..py").write_text("dots = 1")
    (folder / "two\nlines.py").write_text("x")
    os.mkfifo(folder / "fifo")
    with (folder / "sparse.py").open("wb") as file:
        file.truncate(1 << 30)
    texts, reasons = given(folder, include=["*.py"])
    assert texts == {"..py": "dots = 1", "good.py": "x = 1"}
    assert reasons == {
        "bad.py": "not UTF-16 from byte 2",
        "fifo": NOT_A_FILE,
        "out": LINK,
        "out.py": LINK,
        "out.txt": LINK,
        "sparse.py": "larger than 262,144 bytes",
        r"two\nlines.py": UNPRINTABLE,
    }


def test_exceeded_caps_are_reported(folder):
    put(folder, a="1", b="22", c="333", d="4444")
    texts, reasons = given(folder, SourceLimits(items=2))
    assert list(texts) == ["a.py", "b.py"]
    assert reasons == dict.fromkeys(("c.py", "d.py"), "over the limit of 2 items")
    assert given(folder, SourceLimits(item_bytes=3))[1] == {"d.py": "larger than 3 bytes"}
    texts, reasons = given(folder, SourceLimits(total_bytes=5))
    assert list(texts) == ["a.py", "b.py"]
    assert set(reasons.values()) == {"over the limit of 5 bytes in total"}


def test_skipped_files_are_listed_up_to_a_limit(folder):
    put(folder, **{f"f{at}": "" for at in range(5)}, g="1")
    texts, reasons = given(folder, SourceLimits(max_skipped=2))
    assert list(texts) == ["g.py"]
    assert reasons == {"f0.py": "empty", "f1.py": "empty", "3 more files": "empty"}


def test_ignored_files_are_omitted_unless_named(folder):
    tree = GitTree(folder)
    tree.put(".gitignore", "*.log\n/build/\n!keep.log\n")
    tree.put(".git/info/exclude", "mine.py\n")
    for path in ("a.py", "a.log", "keep.log", "build/x.py", "sub/build/y.py", "tracked.log", "mine.py"):
        tree.put(path, "1")
    tree.put("sub/.gitignore", "inner.py\n")
    tree.put("sub/inner.py", "1")
    tree.commit("tracked.log")
    kept = [".gitignore", "a.py", "keep.log", "sub/.gitignore", "sub/build/y.py", "tracked.log"]
    assert list(given(folder)[0]) == kept
    assert list(given(folder / "sub")[0]) == [".gitignore", "build/y.py"]
    assert list(given(folder, paths=["build", "a.log"])[0]) == ["build/x.py", "a.log"]


def test_nested_repository_is_skipped_with_the_reason(folder):
    tree = GitTree(folder)
    tree.put("a.py", "1")
    GitTree(folder / "vendor" / "other").put("b.py", "1")
    assert given(folder) == ({"a.py": "1"}, {"vendor/other": "another repository"})


def test_unreadable_repository_is_reported_and_read(folder):
    put(folder, a="1")
    (folder / ".git").write_text("gitdir: /nowhere\n")
    texts, reasons = given(folder)
    assert texts == {"a.py": "1"}
    assert reasons[".gitignore"].endswith("; files that git ignores are reviewed as well")


@pytest.mark.parametrize("field", ["since", "base"])
def test_changes_require_a_repository(folder, field):
    put(folder, a="1")
    with pytest.raises(InvalidInput, match=f"{field}: requires a folder in a git repository"):
        list(FileSource(folder, FileSelection(**{field: "main"})))
