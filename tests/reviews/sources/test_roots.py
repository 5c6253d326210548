"""Only files inside a root are read."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from symposia.models.errors import InvalidInput
from symposia.reviews.sources import sandboxed_folder as roots
from symposia.reviews.sources.sandboxed_folder import (
    LINK,
    MAX_DEPTH,
    NOT_A_FILE,
    OUTSIDE,
    UNPRINTABLE,
    SandboxedFolder,
)
from symposia.reviews.values.runs import SkippedItem

LIMIT = 1_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A root, with a secret beside it."""
    (tmp_path / "secret.txt").write_text("the secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.py").write_text("the secret")
    inside = tmp_path / "root"
    inside.mkdir()
    return inside


def walked(folder: Path, below: str = "", **left_out: str) -> list[str | tuple[str, str]]:
    """Paths, and (path, reason) of what was skipped."""
    with SandboxedFolder(folder) as root:
        found = list(root.walk(below, leave_out=lambda named: left_out.get(named.path)))
    return [(it.path, it.reason) if isinstance(it, SkippedItem) else it for it in found]


def content(folder: Path, path: str) -> bytes | str:
    """What is read, or why not."""
    with SandboxedFolder(folder) as root:
        found = root.read(path, limit=LIMIT)
    return found.reason if isinstance(found, SkippedItem) else found


def test_files_are_found_at_any_depth_by_name(folder):
    for path in ("b.py", "a/y.py", "a/x/1.py", "c.py"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("1")
    assert walked(folder) == ["a/x/1.py", "a/y.py", "b.py", "c.py"]
    assert walked(folder, "a") == ["a/x/1.py", "a/y.py"]
    assert content(folder, "a/x/1.py") == b"1"


def test_link_out_of_the_root_is_not_followed(folder):
    (folder / "file").symlink_to("../secret.txt")
    (folder / "folder").symlink_to("../outside")
    (folder / "absolute").symlink_to(folder.parent / "outside")
    (folder / "loop").symlink_to("loop")
    assert walked(folder) == [(name, LINK) for name in ("absolute", "file", "folder", "loop")]
    assert content(folder, "file") == content(folder, "loop") == LINK
    assert "symbolic link" in content(folder, "folder/secret.py")
    (told,) = walked(folder, "folder")
    assert told[0] == "folder"
    assert "symbolic link" in told[1]


@pytest.mark.parametrize(
    "path", ["..", "../secret.txt", "a/../../secret.txt", "/etc/passwd", "a//b", ".", "./a", "", "a/", "a\0b"]
)
def test_path_outside_the_root_is_refused(folder, path):
    (folder / "a").mkdir()
    assert content(folder, path) == OUTSIDE


@pytest.mark.parametrize("path", ["..", "../outside", "a/../../outside", "/etc", "a\0b"])
def test_walk_cannot_begin_outside(folder, path):
    (folder / "a").mkdir()
    ((_, reason),) = walked(folder, path)
    assert reason == "not a folder, or a symbolic link in its path"


def test_names_with_dots_in_them_are_names(folder):
    for name in ("...", "..a", "a..b", ".hidden"):
        (folder / name).write_text(name)
    assert [content(folder, path) for path in walked(folder)] == [b"...", b"..a", b".hidden", b"a..b"]


def test_special_files_are_reported_without_waiting(folder):
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.open(folder, os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
        assert walked(folder) == [("fifo", NOT_A_FILE), ("socket", NOT_A_FILE)]
        assert content(folder, "fifo") == content(folder, "socket") == NOT_A_FILE
    with SandboxedFolder(Path("/dev")) as root:
        device = root.read("zero", limit=LIMIT)
    assert isinstance(device, SkippedItem)
    assert device.reason == NOT_A_FILE


def test_too_large_file_is_not_read(folder):
    with (folder / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    (folder / "most").write_bytes(b"x" * LIMIT)
    (folder / "over").write_bytes(b"x" * (LIMIT + 1))
    assert content(folder, "most") == b"x" * LIMIT
    assert content(folder, "over") == content(folder, "sparse") == "larger than 1,000 bytes"


def test_file_of_unknown_size_is_read_up_to_the_limit():
    """Those of /proc say that they are empty."""
    status = content(Path("/proc/self"), "limits")
    assert status == "larger than 1,000 bytes" or b"Max" in status


def test_unprintable_name_is_reported_in_one_line(folder):
    for name in (b"new\nline.py", b"\xff.py", b"bell\a", b" "):
        Path(os.fsdecode(bytes(folder) + b"/" + name)).write_text("x")
    told = [(" ", UNPRINTABLE), (r"bell\x07", UNPRINTABLE), (r"new\nline.py", UNPRINTABLE)]
    assert walked(folder) == [*told, (r"\udcff.py", UNPRINTABLE)]
    assert content(folder, "new\nline.py") == UNPRINTABLE


@contextmanager
def nobody() -> Iterator[None]:
    """Run as an unprivileged user if possible."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_unreadable_file_is_reported():
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "folder").mkdir(mode=0)
        (folder / "file").touch(mode=0)
        with nobody():
            assert content(folder, "file") == "permission denied"
            assert walked(folder) == ["file", ("folder", "permission denied")]


def test_missing_file_is_reported(folder):
    assert content(folder, "a") == content(folder, "a/b") == "not found"


def test_excluded_files_are_omitted_or_reported(folder):
    for name in ("a", "b", "c"):
        (folder / name).mkdir()
        (folder / name / "x").write_text("x")
    assert walked(folder, a="", b="a reason") == [("b", "a reason"), "c/x"]


def test_depth_of_folders_is_limited(folder):
    inner = folder
    for _ in range(MAX_DEPTH + 5):
        inner /= "d"
        inner.mkdir()
    ((path, reason),) = walked(folder)
    assert (path.count("/"), reason) == (MAX_DEPTH, f"nested deeper than {MAX_DEPTH} folders")


def test_a_folder_of_too_many_names_is_read_in_part(folder, monkeypatch):
    monkeypatch.setattr(roots, "MAX_NAMES", 3)
    for at in range(5):
        (folder / str(at)).write_text("x")
    *some, told = walked(folder)
    assert len(some) == 3
    assert told == (".", "more than 3 names, the others are skipped")


def test_folder_replaced_by_a_link_is_not_followed(folder):
    """Two names change places all the time: a real folder, and a link to the secret."""
    (folder / "real").mkdir()
    (folder / "real" / "secret.py").write_text("harmless")
    (folder / "link").symlink_to("../outside")
    is_over = threading.Event()

    def exchange() -> None:
        while not is_over.is_set():
            (folder / "real").rename(folder / "spare")
            (folder / "link").rename(folder / "real")
            (folder / "real").rename(folder / "link")
            (folder / "spare").rename(folder / "real")

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        seen = {content(folder, "real/secret.py") for _ in range(2_000)}
    finally:
        is_over.set()
        thread.join()
    assert b"the secret" not in seen
    assert content(folder, "real/secret.py") == b"harmless"


def opened_in(folder):
    """What this process has open there; of what other tests left open, anything may be closed meanwhile."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            links.append(descriptor.readlink())
    return [link for link in links if link.is_relative_to(folder)]


def test_no_descriptor_stays_open(folder):
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "c").write_text("x")
    with SandboxedFolder(folder) as root:
        assert opened_in(folder)
        assert list(root.walk(leave_out=lambda _: None)) == ["a/b/c"]
        next(root.walk(leave_out=lambda _: None))  # given up in the middle
        root.read("a/b/c", limit=LIMIT)
        root.read("a/x/c", limit=LIMIT)
        assert root.exists("a/b")
        assert root.is_folder("a/b")
        assert not root.exists("a/x")
        assert not root.is_folder("a/b/c")
    assert not opened_in(folder)


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_root_must_be_a_folder(folder, name):
    (folder / "file").write_text("x")
    with pytest.raises(InvalidInput, match="root: must be a readable folder"):
        SandboxedFolder(folder / name)
