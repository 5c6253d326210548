"""Texts that bring nothing new: repetitions and courtesies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.turns.repetition import brings_nothing_new, is_courtesy

LONG = (
    "We should deploy the new parser on Monday, because the supplier upload stays closed over the weekend and nobody needs "
    "it before Tuesday evening."
)
CODE = "Here it is:\n```python\nfor i in range(n):\n    total += prices[i]\n```"


@pytest.mark.parametrize(
    "text",
    [
        "Thank you!",
        "Thanks, Ada.",
        "Thank you so much, everyone! 🙏",
        "Thanks again, Ben O'Neil, and great work everyone!",
        "You're welcome.",
        "You\u2019re very welcome, Ada!",
        "It was my pleasure. Have a great day!",
        "**Great work, team!**\n\nLooking forward to the next session.",
        "Well done, all. Goodbye!",
        "I'm glad to help! Let me know if you need anything else.",
        "Thank you for the detailed plan, Ada.",
        "We really appreciate your thoughtful feedback.",
        "Happy to help.",
    ],
)
def test_a_courtesy_brings_nothing_new(text):
    assert is_courtesy(text, ["ada", "Ben O'Neil"])
    assert brings_nothing_new(text, before=(), names=["ada", "Ben O'Neil"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yes.",
        "I agree.",
        "PASS",
        "Thanks, but the cache is stale.",
        "Thank you. The cache is stale.",
        "Thanks! Which version?",
        "Thank you for 3 more days.",
        "Great idea, we ship on Friday.",
        "I'm happy to go with the second plan.",
        "Welcome to the library of small things.",
        "Good.\nRevenue fell.",
        "Ada",
    ],
)
def test_content_is_no_courtesy(text):
    assert not is_courtesy(text, ["ada"])


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("Yes.", "Yes."),
        ("I agree with Ben", "I agree with Ben!"),
        ("  The  cache is STALE. ", "the cache is stale"),
        (LONG, LONG.replace("nobody", "no-one".replace("-", ""))),
        (LONG, LONG.replace("because", "since")),
        (LONG, f"**{LONG}**"),
        (CODE, CODE.replace("    ", "  ")),
        ("同意这个方案。", "同意这个方案"),
    ],
)
def test_a_near_equal_text_repeats(text, before):
    assert brings_nothing_new(text, before=["Something else.", before])
    assert brings_nothing_new(before, before=[text])


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("Yes.", "No."),
        (LONG, LONG.replace("should", "should not")),
        (LONG, LONG.replace("needs", "doesn't need")),
        (LONG, LONG + " I would add a rule at the gateway, too, as the second line of defence."),
        (f"{LONG} It takes 4 days.", f"{LONG} It takes 5 days."),
        (f"{LONG} a < b", f"{LONG} a <= b"),
        (CODE, CODE.replace("+=", "-=")),
        (CODE, CODE.replace("prices", "cents")),
        ("同意这个方案。", "反对这个方案。"),
        ("...", "!"),
        ("👍", "👎"),
        ("ada before ben and ben before cyd", "ben before ada and cyd before ben"),
    ],
)
def test_a_changed_text_is_news(text, before):
    assert not brings_nothing_new(text, before=[before])
    assert not brings_nothing_new(before, before=[text])


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, True), ({"exactly": True}, False), ({"min_words": 100}, False)],
)
def test_options_narrow_the_comparison(options, expected):
    assert brings_nothing_new(LONG, before=[LONG.replace("because", "since")], **options) is expected


@given(st.text(max_size=300), st.lists(st.text(max_size=300), max_size=4))
def test_any_text_repeats_itself_and_is_compared_alike_both_ways(text, others):
    if text.strip():
        assert brings_nothing_new(text, before=[*others, text])
    for other in others:
        if not (is_courtesy(text) or is_courtesy(other)) and text.strip() and other.strip():
            assert brings_nothing_new(text, before=[other]) == brings_nothing_new(other, before=[text])


@pytest.mark.parametrize("count", [1_000, 500_000])
@pytest.mark.parametrize("part", ["thank you ", "<", "good, ", "thanks for the "])
def test_long_texts_are_no_courtesies(part, count):
    text = part * count
    assert not is_courtesy(text)
    assert brings_nothing_new(text, before=[text])
