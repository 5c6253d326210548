"""Documents are read in time that is in proportion to their length, whatever they contain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.reviews.values.documents.reading import read_document

#: A reader whose work grew with the square of this would exceed the time limit of a test.
LONG = 400_000


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("# a\n" + "\n" * LONG + "x\n", "a.md"),
        ("# a" + " " * LONG + "b\n", "a.md"),
        ("# a" + "{" * LONG + "b\n", "a.md"),
        (":" * LONG + "\n", "a.rst"),
        (" " * LONG + "x\n", "a.rst"),
        ("=" * LONG + "x\n", "a.rst"),
        ("=== " * (LONG // 4) + "x\n", "a.rst"),
        ("`" * LONG + "\n", "a.rst"),
        ("``a`" * (LONG // 4) + "\n", "a.rst"),
        ("](/" * (LONG // 3) + "\n", "a.md"),
        (")[/" * (LONG // 3) + "\n", "a.md"),
        ("{#a}" * (LONG // 4) + "\n", "a.md"),
        ("\\[" * (LONG // 2) + "\n", "a.md"),
        ("a\n\n" + "<!--" * (LONG // 4) + "\n", "a.md"),
        ("a\n\n" + '<a id="x">' * (LONG // 10) + "\n", "a.md"),
        ("](http://" * (LONG // 9) + "\n", "a.rst"),
        ("`a`_\n\n" * (LONG // 12) + ".. _b: c\n" * (LONG // 20), "a.rst"),
    ],
)
def test_hostile_documents_are_read_in_time(text: str, path: str) -> None:
    document = read_document(text, path=path)
    assert not document.has_anchor("none")
    assert [it.prose for it in document.passages]


@pytest.mark.parametrize(
    ("heading", "text"),
    [("Start {#begin}", "Start"), ("Start \u00b6 ", "Start"), ("Start {a} b", "Start {a} b"), ("{#x}", "")],
)
def test_attributes_after_a_heading_are_left_out(heading: str, text: str) -> None:
    assert [it.text for it in read_document(f"# {heading}\n", path="a.md").headings] == [text]


MARKS = ["::: note", "--8<-- 'x'", ".. include:: x", "```{note}", "{% x %}", "{{ x }}", "<!-- include x -->"]


@given(st.text(" \t\n", max_size=20), st.sampled_from([*MARKS, "plain", ".. note:: x"]))
def test_generated_parts_are_found_after_any_blanks(blanks: str, mark: str) -> None:
    document = read_document(f"# a\n{blanks}\n{mark}\n", path="a.md")
    assert document.is_generated is (mark in MARKS)


@given(st.text("ab:`=-. \n\t{}_|", max_size=60))
def test_any_restructured_text_can_be_read(text: str) -> None:
    document = read_document(text, path="a.rst")
    lines = text.count("\n") + 1
    assert all(1 <= it.line <= lines for it in document.passages)
