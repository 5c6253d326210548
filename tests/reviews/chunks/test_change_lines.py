"""The lines of a change that models are shown: every changed line once, with both numbers and its function."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.text.numbered_lines import GAP, ChangeLine, read_change_lines, without_number
from symposia.reviews.chunks.change_lines import change_lines, split_change
from symposia.reviews.chunks.outline import Outline, outline_of
from symposia.reviews.values.changes import Hunk, text_before

BEFORE = [
    "import os",
    "",
    "LIMIT = 10",
    "",
    "",
    "def delete_user(request, user_id):",
    "    if not request.user.is_admin:",
    '        raise PermissionError("admins only")',
    '    db.execute("DELETE FROM users WHERE id = ?", (user_id,))',
    "",
]
AFTER = [line for line in BEFORE if "admin" not in line]
texts = st.lists(st.text("ab +-.1", max_size=8), max_size=60)


def hunks(before: list[str], after: list[str]) -> list[Hunk]:
    codes = SequenceMatcher(None, before, after).get_opcodes()
    return [
        Hunk(a + 1, b - a, tuple(before[a:b]), c + 1, d - c) for tag, a, b, c, d in codes if tag != "equal"
    ]


@given(texts, texts, st.integers(30, 400))
def test_changed_lines_are_shown_once_with_their_numbers(
    before: list[str], after: list[str], max_bytes: int
) -> None:
    found = hunks(before, after)
    change = change_lines(after, Outline(), found)
    assert text_before(after, found) == before
    shown = read_change_lines(change.render())
    assert all(before[number - 1] == line.text for number, line in shown.old.items())
    assert all(after[number - 1] == line.text for number, line in shown.new.items())
    changed = [line for line in change.lines if line and line.is_changed]
    assert len(changed) == sum(hunk.old_count + hunk.new_count for hunk in found)
    parts, skipped = split_change(change, max_bytes)
    assert [line for part in parts for line in part.lines if line and line.is_changed] == changed
    assert not skipped
    assert all(len(part.render().encode()) <= max_bytes for part in parts)


def test_removed_check_is_shown_with_its_function() -> None:
    change = change_lines(AFTER, outline_of("a.py", "\n".join(AFTER)), hunks(BEFORE, AFTER))
    assert change.render().split("\n")[5:9] == [
        " 6  6   def delete_user(request, user_id):",
        " 7    -     if not request.user.is_admin:",
        ' 8    -         raise PermissionError("admins only")',
        ' 9  7       db.execute("DELETE FROM users WHERE id = ?", (user_id,))',
    ]
    assert change.reviewed == ()


def test_long_function_is_shown_by_its_signature_and_near_lines() -> None:
    after = ["def long(", "    value,", "):", *(f"    step_{n}()" for n in range(200))]
    before = [*after[:100], "    check()", *after[100:]]
    shown = change_lines(after, outline_of("a.py", "\n".join(after)), hunks(before, after)).render()
    assert shown.startswith("  1   1   def long(\n  2   2       value,\n")
    assert f"\n{GAP}\n" in shown
    assert "101     -     check()" in shown
    assert shown.count("step_") == 16


@pytest.mark.parametrize(
    "line",
    [
        ChangeLine(3, 4, "x + 1"),
        ChangeLine(3, None, "- 3 + 4"),
        ChangeLine(None, 12, "  5 6   y"),
        ChangeLine(None, 1, ""),
    ],
    ids=str,
)
@pytest.mark.parametrize("width", [1, 6])
def test_line_of_a_change_is_read_back(line: ChangeLine, width: int) -> None:
    text = line.format(width)
    shown = read_change_lines(f"{GAP}\n{text}\n")
    assert {n: it.text for n, it in shown.old.items()} == ({line.old: line.text} if line.old else {})
    assert {n: it.text for n, it in shown.new.items()} == ({line.new: line.text} if line.new else {})
    assert without_number(text) == line.text
    assert all(it.is_reviewed is line.is_changed for it in (*shown.old.values(), *shown.new.values()))
