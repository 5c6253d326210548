"""Thoughts of models in their texts: removed from whole texts and from streams."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from symposia.models.text.thinking import ThinkingFilter, is_empty, without_thinking

NAMES = ["think", "thinking", "thought", "reasoning", "reflection", "scratchpad", "analysis", "seed:think"]
TAGS = [
    *((f"<{name}>", f"</{name}>") for name in [*NAMES, *map(str.upper, NAMES)]),
    ('<think time="3">', "</think>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("```thinking\n", "\n```"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
]


def stream(text, size):
    reader = ThinkingFilter()
    pieces = [reader.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return "".join([*pieces, reader.feed("", last=True)])


@pytest.mark.parametrize(("opened", "closed"), TAGS)
def test_thought_is_removed_in_every_form(opened, closed):
    for thought in ("NEXT: ben?", "a\n\n`b` **c**\n\nd"):
        assert without_thinking(f"{opened}{thought}{closed}\nHello.") == "Hello."
        assert without_thinking(f"Well.\n{opened}{thought}{closed}\nHello.").split() == ["Well.", "Hello."]
        assert without_thinking(f"Hello.\n{opened}{thought}") == "Hello."
        assert without_thinking(f"{opened}{thought}") == ""
        for size in (1, 3, 1_000):
            assert stream(f"{opened}{thought}{closed}\nHello.", size).strip() == "Hello."
            assert stream(f"Hello.\n{opened}{thought}", size).strip() == "Hello."


@pytest.mark.parametrize(
    ("opened", "closed"), [tag for tag in TAGS if "`" not in tag[0] and "|c" not in tag[0]]
)
def test_thought_that_is_only_closed_begins_with_the_text(opened, closed):
    assert without_thinking(f"So.{closed}Hello, all of you.") == "Hello, all of you."
    assert without_thinking(f"A long thought about all of it.\n{closed}\n\nHello.") == "Hello."
    late = f"This is a longer text that ends with the tag {closed} in it."
    assert without_thinking(late).startswith("This is a longer text")


@pytest.mark.parametrize(
    "text",
    [
        "Write `<think>` in front and `</think>` behind.",
        "So:\n```xml\n<think>a</think>\n```\nThat is all.",
        "So:\n~~~\n</think>\n~~~\nThat is all.",
        "a < b, think > c [THINKER] <thinker>x</thinker>",
        "```python\nx = 1\n```",
        "I think <b>so</b>.",
    ],
)
def test_other_text_stays(text):
    assert without_thinking(text) == text
    assert all(stream(text, size) == text for size in (1, 2, 7, 1_000))


def test_frames_of_the_answer_are_removed():
    assert without_thinking("<|channel|>final<|message|>Hello.<|return|>") == "Hello."
    solution = "<|begin_of_thought|>x<|end_of_thought|><|begin_of_solution|>Hello.<|end_of_solution|>"
    assert without_thinking(solution) == "Hello."


PARTS = [
    "<think>",
    "</think>",
    "<",
    "[THINK]",
    "[/THINK]",
    "`",
    "```",
    "\n",
    "~~~",
    "◁think▷",
    "a b",
    " ",
    "```thinking\n",
    ">",
]


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join), st.integers(1, 9))
@example("`<think>```thinking\n", 1)
@example(" ~~~<think>a", 1)
def test_stream_shows_the_same_in_pieces_of_any_size(text, size):
    assert stream(text, size) == stream(text, len(text) + 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "\u200b\u200d\ufeff",
        "\x00",
        "...",
        "…",
        ". . .",
        "```\n```",
        "```json\n\n```",
        "<answer></answer>",
        "<br>",
        "\u2800\u3164",
        "**",
    ],
)
def test_text_that_shows_nothing_is_empty(text):
    assert is_empty(text)


@pytest.mark.parametrize(
    "text", ["a", "1", "...a", "<answer>a</answer>", "\U0001f44d", "?", "```\na\n```", "é"]
)
def test_text_that_shows_something_is_not_empty(text):
    assert not is_empty(text)


@pytest.mark.long
@pytest.mark.parametrize(
    "unit",
    [
        "```\n",
        "`",
        "` ",
        "<think>",
        "</think>",
        "<",
        "[THINK",
        "<think>a</think>",
        "~~~\n",
        "`a``b",
        "```thinking\n  ",
    ],
)
def test_megabyte_is_read_quickly(unit):
    text = unit * (1_048_576 // len(unit))
    without_thinking(text)
    is_empty(text)
    stream(text, 100_000)
