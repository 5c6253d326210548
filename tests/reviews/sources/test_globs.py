"""Patterns mean what they mean in a shell and in `.gitignore`."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.errors import InvalidInput
from symposia.reviews.sources.files import MAX_PATTERNS, Globs


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("*.py", ["a.py", "x/a.py", "x/y/.py", ".py"], ["a.pyc", "a.py.txt", "py"]),
        ("/*.py", ["a.py"], ["x/a.py"]),
        ("./*.py", ["a.py"], ["x/a.py"]),
        ("docs", ["docs", "docs/a.md", "x/docs/a.md"], ["docs2", "xdocs/a"]),
        ("docs/", ["docs/a.md"], ["doc"]),
        ("docs/*.md", ["docs/a.md"], ["docs/x/a.md", "x/docs/a.md", "a.md"]),
        ("docs/**/*.md", ["docs/a.md", "docs/x/a.md", "docs/x/y/a.md"], ["x/docs/a.md", "docs/a.txt"]),
        ("docs/**", ["docs/a", "docs/x/a"], ["docs", "x/docs/a"]),
        ("**", ["a", "a/b"], []),
        ("**/tests/**/test_*.py", ["tests/test_a.py", "x/tests/y/test_a.py"], ["test_a.py", "tests/a.py"]),
        ("**/**/a", ["a", "x/a", "x/y/a"], ["b"]),
        ("a?c.[ch]", ["abc.c", "x/a-c.h"], ["ac.c", "abc.o"]),
        ("[!a]*", ["b", "b/a"], ["a"]),
        ("*", ["a", "a/b", ".a"], []),
        ("A.PY", ["A.PY"], ["a.py"]),
    ],
)
def test_pattern_matches(pattern, fitting, others):
    globs = Globs([pattern], field="include")
    assert [path for path in fitting if not globs.matches(path)] == []
    assert [path for path in others if globs.matches(path)] == []


@pytest.mark.parametrize("pattern", ["", "/", "./", "../a", "a/../b", "..", "x" * 501])
def test_pattern_outside_the_root_or_empty_is_refused(pattern):
    with pytest.raises(InvalidInput, match="exclude: must be a pattern below the root"):
        Globs([pattern], field="exclude")


def test_number_of_patterns_is_limited():
    with pytest.raises(InvalidInput, match="include: must have at most 100 patterns"):
        Globs(["*.py"] * (MAX_PATTERNS + 1), field="include")


def test_no_patterns_match_nothing():
    assert not Globs([], field="include")
    assert not Globs([], field="include").matches("a")


def test_many_stars_are_matched_quickly():
    """A pattern tried in every way would take longer than there is."""
    assert not Globs(["**/a/" * 90 + "b"], field="include").matches("a/" * 500 + "c")
    assert not Globs(["*a" * 200 + "b"], field="include").matches("a" * 2_000)


names = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=5).filter(
    lambda it: it not in (".", "..")
)
paths = st.lists(names, min_size=1, max_size=6).map("/".join)


@given(pattern=st.text(max_size=20), path=paths)
def test_any_pattern_matches_or_is_refused(pattern, path):
    with contextlib.suppress(InvalidInput):
        assert Globs([pattern], field="include").matches(path) in (True, False)


@given(path=paths.filter(lambda it: not set(it) & set("*?[")))
def test_path_matches_itself_and_its_folders(path):
    parts = path.split("/")
    for upto in range(1, len(parts) + 1):
        assert Globs(["/" + "/".join(parts[:upto])], field="include").matches(path)
