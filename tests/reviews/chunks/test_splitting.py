"""Splitting of items: each line is reviewed in one chunk or skipped, and the chunks fit."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.text.numbered_lines import read_numbered_lines, split_lines
from symposia.reviews.chunks.outline import Outline, outline_of
from symposia.reviews.chunks.splitter import Split, split_item

CODE = "import os\n\n\nclass Cart:\n" + "".join(
    f"    def number_{n}(self):\n        total = {n}\n\n        return total\n\n" for n in range(40)
)
lines_of_text = st.lists(st.text("ab =:|\t1é", max_size=30), min_size=1, max_size=60)


def reviewed(split: Split) -> Counter[int]:
    return Counter(n for it in split.chunks for n, line in it.lines if line.is_reviewed)


@given(lines_of_text, st.integers(40, 900))
def test_each_line_is_reviewed_once_or_skipped(lines: list[str], max_bytes: int) -> None:
    split = split_item(lines, Outline(), max_bytes=max_bytes)
    assert sorted([*reviewed(split).elements(), *split.skipped]) == [*range(1, len(lines) + 1)]
    for chunk in split.chunks:
        assert len(chunk.render().encode()) <= max_bytes
        assert {n: it.text for n, it in read_numbered_lines(chunk.render()).items()} == {
            n: lines[n - 1] for n, _ in chunk.lines
        }


@given(st.integers(1, 3), st.integers(400, 2_000))
def test_ignore_comments_are_in_the_chunk_of_their_line(count: int, max_bytes: int) -> None:
    comments = "".join(f"# symposia: ignore[r{n}] known\n" for n in range(count))
    text = "".join(f"{comments}def f{n}(x):\n    a = x\n    return a\n\n\n" for n in range(40))
    lines = split_lines(text)
    split = split_item(lines, outline_of("a.py", text), max_bytes=max_bytes)
    for chunk in split.chunks:
        shown = dict(chunk.lines)
        for number, it in shown.items():
            if it.is_reviewed and it.text.startswith("def"):
                assert all(number - n in shown for n in range(1, count + 1))


def test_python_is_split_between_functions() -> None:
    split = split_item(split_lines(CODE), outline_of("a.py", CODE), max_bytes=1_000)
    assert len(split.chunks) > 5
    for chunk in split.chunks[1:]:
        texts = dict(chunk.lines)
        first = min(n for n, line in texts.items() if line.is_reviewed)
        assert "def number_" in texts[first].text
        assert [line.text for line in texts.values() if not line.is_reviewed] == ["import os", "class Cart:"]


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.js", "import x from 'x';\nclass A {\n  one() {\n    return 1;\n  }\n}\n", ["A", "one"]),
        ("a.ts", "interface A {\n  b: string;\n}\nfunction two(): number {\n  return 2;\n}\n", ["A", "two"]),
        ("a.go", "package a\n\nfunc Three() int {\n\treturn 3\n}\n", ["Three"]),
        ("A.java", "class A {\n  int four() {\n    return 4;\n  }\n}\n", ["A", "four"]),
        ("a.rs", "use std::io;\nfn five() -> i32 {\n    5\n}\n", ["five"]),
        ("a.py", "@cache\ndef six():\n    pass\n", ["six"]),
        ("a.py", "def broken(:\n", []),
        ("a.py", "x = '\r'\ndef seven():\n    pass\n", []),
        ("a.unknown", "def eight():\n", []),
    ],
)
def test_definitions_are_found_in_each_language(path: str, text: str, names: list[str]) -> None:
    assert [it.name for it in outline_of(path, text).every_definition()] == names
