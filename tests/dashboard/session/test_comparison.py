"""Two transcripts side by side."""

from __future__ import annotations

import pytest

from symposia.dashboard.views.session.comparison import MAX_MESSAGES, MAX_SHOWN, compare_messages
from symposia.models.protocol.dialog import Message


def messages(*texts: str) -> list[Message]:
    return [Message(role="user", content=text) for text in texts]


@pytest.mark.parametrize(
    ("other", "this", "expected"),
    [
        ("a b", "a b", [2]),
        ("", "", []),
        ("a b c", "a x c", [1, [("del", "b"), ("ins", "x")], 1]),
        ("a", "a b", [1, [("ins", "b")]]),
        ("a b", "b", [[("del", "a")], 1]),
    ],
)
def test_messages_are_matched(other, this, expected):
    shown, only_first = compare_messages(messages(*other.split()), messages(*this.split()))
    parts = [part.same or [(piece.tag, piece.text) for piece in part.pieces] for part in shown]
    assert (parts, only_first) == (expected, None)


def test_texts_differ_word_by_word():
    ((part,), _) = compare_messages(messages("The old cat."), messages("The new cat."))
    assert [(piece.tag, piece.text) for piece in part.pieces] == [
        ("", "The "),
        ("del", "old"),
        ("ins", "new"),
        ("", " cat."),
    ]


@pytest.mark.parametrize(
    ("other", "this", "same", "only_first"),
    [
        (["a"] * 1_105, ["a"] * 1_106, [1_105, 0], None),
        (["a"] * 1_105, ["a"] * 1_105 + ["b"] * 500, [1_105] + [0] * (MAX_SHOWN - 1), 1_105 + MAX_SHOWN - 1),
        (["a"] * 150, ["b"] * 150, [0] * MAX_SHOWN, MAX_SHOWN),
        (["a", *"b" * 500], ["c", *"b" * 500], [0, MAX_MESSAGES - 1], MAX_MESSAGES),
    ],
)
def test_rest_is_compared_after_what_is_the_same_and_a_cut_is_told(other, this, same, only_first):
    shown, compared = compare_messages(messages(*other), messages(*this))
    assert ([part.same for part in shown], compared) == (same, only_first)
