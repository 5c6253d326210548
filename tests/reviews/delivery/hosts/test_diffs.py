"""Lines of a diff that can have comments."""

from __future__ import annotations

import difflib

from hypothesis import given
from hypothesis import strategies as st

from review_tools.pulls import PATCH, on_line
from review_tools.values import a_finding
from symposia.reviews.delivery.hosts.diff import FileDiff, find_anchor, parse_patch

FILES = {"app.py": FileDiff("app.py", "app.py", parse_patch(PATCH))}
texts = st.lists(st.sampled_from(["a", "b", "", "@@ -1 +1 @@", "+x", "-y", "\\ z", "é\r"]), max_size=12)


@given(texts, texts, st.integers(0, 3))
def test_lines_have_the_numbers_and_texts_of_the_new_file(old, new, context):
    patch = "\n".join(list(difflib.unified_diff(old, new, n=context, lineterm=""))[2:])
    found = parse_patch(patch)
    assert all(new[number - 1] == it.text for number, it in found.items())
    assert all(old[it.old_line - 1] == it.text for it in found.values() if it.old_line is not None)
    added = difflib.SequenceMatcher(None, old, new).get_opcodes()
    changed = {at + 1 for kind, _, _, start, end in added if kind != "equal" for at in range(start, end)}
    assert changed <= found.keys()


def test_marks_of_the_diff_are_no_lines():
    patch = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file"
    assert {number: it.text for number, it in parse_patch(patch).items()} == {1: "b"}
    assert parse_patch("") == parse_patch("Binary files differ") == {}


def test_finding_has_lines_only_in_a_hunk():
    assert find_anchor(on_line(2), FILES) is not None
    assert find_anchor(on_line(12), FILES) is None
    assert find_anchor(a_finding(line=0), FILES) is None
    assert find_anchor(a_finding(path="other.py"), FILES) is None


def test_replacement_needs_every_line_as_it_was_reviewed():
    within = find_anchor(on_line(2, end_line=3), FILES)
    assert within is not None
    assert (within.start, within.end, within.is_exact) == (2, 3, True)
    changed = FileDiff("app.py", "app.py", parse_patch(PATCH.replace("eval(key)", "eval(keys)")))
    other = find_anchor(on_line(2, end_line=3), {"app.py": changed})
    assert other is not None
    assert not other.is_exact
    unknown = find_anchor(a_finding(line=2), FILES)
    assert unknown is not None
    assert not unknown.is_exact
