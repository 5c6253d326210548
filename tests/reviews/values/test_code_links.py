"""Links to lines: which addresses have one, and what it looks like on each code host."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.reviews.values.code_links import line_link, pull_link, web_address


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("https://github.com/a/b.git", "https://github.com/a/b"),
        ("https://user:secret@github.com/a/b", "https://github.com/a/b"),
        ("http://localhost:3000/a/b/", "http://localhost:3000/a/b"),
        ("git@github.com:a/b.git", "https://github.com/a/b"),
        ("ssh://git@gitlab.example:2222/group/sub/b.git", "https://gitlab.example/group/sub/b"),
        ("/srv/git/b.git", ""),
        ("file:///srv/git/b.git", ""),
        ("ext::sh -c touch% /tmp/x", ""),
        ("javascript:alert(1)", ""),
        ("https://github.com/a/b?x=<script>", ""),
        ("https://github.com/a/b\n", ""),
        ("", ""),
    ],
)
def test_web_address_of_a_remote(remote: str, expected: str) -> None:
    assert web_address(remote) == expected


@pytest.mark.parametrize(
    ("url", "one", "several", "pull"),
    [
        ("https://github.com/a/b", "/blob/c1/x%20y.py#L3", "/blob/c1/x%20y.py#L3-L5", "/pull/7"),
        (
            "https://gitlab.example/a/b",
            "/-/blob/c1/x%20y.py#L3",
            "/-/blob/c1/x%20y.py#L3-5",
            "/-/merge_requests/7",
        ),
        (
            "https://bitbucket.org/a/b",
            "/src/c1/x%20y.py#lines-3",
            "/src/c1/x%20y.py#lines-3:5",
            "/pull-requests/7",
        ),
        (
            "https://codeberg.org/a/b",
            "/src/commit/c1/x%20y.py#L3",
            "/src/commit/c1/x%20y.py#L3-L5",
            "/pulls/7",
        ),
        ("https://git.sr.ht/~a/b", "/tree/c1/item/x%20y.py#L3", "/tree/c1/item/x%20y.py#L3-5", None),
    ],
)
def test_link_has_the_form_of_the_host(url: str, one: str, several: str, pull: str | None) -> None:
    assert pull_link(url, 7) == (url + pull if pull else "")
    assert line_link(url, "c1", "x y.py", start=3, end=3) == url + one
    assert line_link(url, "c1", "x y.py", start=3, end=5) == url + several


def test_link_of_a_whole_file_has_no_line() -> None:
    link = line_link("https://github.com/a/b", "c1", "x.py", start=0, end=0)
    assert link == "https://github.com/a/b/blob/c1/x.py"


def test_unknown_host_or_commit_has_no_link() -> None:
    assert line_link("https://example.org/a/b", "c1", "x.py", start=1, end=1) == ""
    assert line_link("https://github.com/a/b", "", "x.py", start=1, end=1) == ""
    assert pull_link("https://example.org/a/b", 7) == pull_link("", 7) == ""


@given(st.text(), st.text(min_size=1).filter(lambda it: it.isprintable()))
def test_link_stays_on_its_host_for_any_path(commit: str, path: str) -> None:
    commit = commit.encode(errors="ignore").decode() or "c"
    parts = urlsplit(line_link("https://github.com/a/b", commit, path, start=1, end=2))
    assert (parts.scheme, parts.netloc, parts.query) == ("https", "github.com", "")
    assert parts.path.startswith("/a/b/blob/")
    assert parts.fragment == "L1-L2"
