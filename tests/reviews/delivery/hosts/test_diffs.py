"""Lines of a diff that can have comments."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_tools.pulls import PATCH, on_line
from review_tools.values import a_finding
from symposia.reviews.delivery.hosts.diff import FileDiff, cut_patch, find_anchor, parse_patch

FILES = {"app.py": FileDiff.of_patch("app.py", PATCH)}
texts = st.lists(st.sampled_from(["a", "b", "", "@@ -1 +1 @@", "+x", "-y", "\\ z", "é\r"]), max_size=12)


@given(texts, texts, st.integers(0, 3))
def test_lines_have_the_numbers_and_texts_of_both_files(old, new, context):
    patch = "\n".join(list(difflib.unified_diff(old, new, n=context, lineterm=""))[2:])
    opcodes = difflib.SequenceMatcher(None, old, new).get_opcodes()
    for lines, mine, other, first in zip(parse_patch(patch), (new, old), (old, new), (3, 1), strict=True):
        assert all(mine[number - 1] == line.text for number, line in lines.items())
        both = [line for line in lines.values() if line.other_line is not None]
        assert all(other[line.other_line - 1] == line.text for line in both)
        changed = {
            at + 1 for code in opcodes if code[0] != "equal" for at in range(code[first], code[first + 1])
        }
        assert (
            changed == {number for number, line in lines.items() if line.other_line is None} or context == 0
        )
        assert changed <= lines.keys()


@pytest.mark.parametrize(
    ("new_line", "old_line", "last"),
    [(2, None, "+c"), (None, 2, "-b"), (4, 3, " e"), (None, 10, "-f"), (99, None, "+g"), (None, None, "+g")],
)
def test_patch_is_cut_after_a_line(new_line, old_line, last):
    patch = "@@ -1,3 +1,4 @@\n a\n-b\n+c\n+d\n e\n@@ -10 +11 @@\n-f\n+g"
    cut = cut_patch(patch, new_line=new_line, old_line=old_line)
    assert patch.startswith(cut)
    assert cut.endswith(f"\n{last}")


def test_marks_of_the_diff_are_no_lines():
    patch = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file"
    new, old = ({number: line.text for number, line in lines.items()} for lines in parse_patch(patch))
    assert (new, old) == ({1: "b"}, {1: "a"})
    assert parse_patch("") == parse_patch("Binary files differ") == ({}, {})


def test_finding_has_lines_only_in_a_hunk():
    assert find_anchor(on_line(2), FILES) is not None
    assert find_anchor(on_line(12), FILES) is None
    assert find_anchor(a_finding(line=0), FILES) is None
    assert find_anchor(a_finding(path="other.py"), FILES) is None


def test_replacement_needs_every_line_as_it_was_reviewed():
    within = find_anchor(on_line(2, end_line=3), FILES)
    assert within is not None
    assert (within.start, within.end, within.is_exact) == (2, 3, True)
    changed = FileDiff.of_patch("app.py", PATCH.replace("eval(key)", "eval(keys)"))
    other = find_anchor(on_line(2, end_line=3), {"app.py": changed})
    assert other is not None
    assert not other.is_exact
    unknown = find_anchor(a_finding(line=2), FILES)
    assert unknown is not None
    assert not unknown.is_exact
