"""Two transcripts side by side."""

from __future__ import annotations

import pytest

from symposia.dashboard.views.session.comparison import MAX_SHOWN, compare_messages
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
    shown = compare_messages(messages(*other.split()), messages(*this.split()))
    parts = [part.same or [(piece.tag, piece.text) for piece in part.pieces] for part in shown]
    assert parts == expected


def test_texts_differ_word_by_word():
    (part,) = compare_messages(messages("The old cat."), messages("The new cat."))
    assert [(piece.tag, piece.text) for piece in part.pieces] == [
        ("", "The "),
        ("del", "old"),
        ("ins", "new"),
        ("", " cat."),
    ]


def test_number_of_parts_is_limited():
    assert len(compare_messages(messages(*"a" * 500), messages(*"b" * 500))) == MAX_SHOWN
