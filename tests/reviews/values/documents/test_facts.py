"""Misspelled names: one letter of difference, and nothing else."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.reviews.values.documents.facts import MAX_WORD, Names, is_misspelling


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("retires", "retries"),
        ("recieve_all", "receive_all"),
        ("max_atempts", "max_attempts"),
        ("max_attempyts", "max_attempts"),
        ("timeuut", "timeout"),
    ],
)
def test_one_letter_is_a_misspelling(word: str, name: str) -> None:
    assert is_misspelling(word, name)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("timeout", "timeout"),
        ("Timeout", "timeout"),
        ("models", "model"),
        ("version1", "version2"),
        ("max_items", "maxitems"),
        ("mandel", "candel"),
        ("to_json", "to_jsonl"),
        ("decode", "encode"),
    ],
)
def test_other_differences_are_no_misspelling(word: str, name: str) -> None:
    assert not is_misspelling(word, name)


def test_words_are_compared_with_the_names_of_the_repository() -> None:
    names = Names()
    names.add("def connect_all(retries): ...\npkg/settings.py")
    words = ["retires", "retries", "x.conect_all()", "retires = 3", "short", "setings", "__all__", "retires"]
    assert dict(names.misspelled(words)) == {
        "retires": "retries",
        "x.conect_all()": "connect_all",
        "setings": "settings",
    }


def test_word_between_two_names_is_left_alone() -> None:
    names = Names()
    names.add("planner planter")
    assert dict(names.misspelled(["planber"])) == {}


@given(st.text(alphabet="abcdefg_", min_size=7, max_size=20), st.data())
def test_any_exchanged_letter_inside_is_found(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(name) - 1).filter(lambda it: name[it] != "_"))
    word = name[:at] + "x" + name[at + 1 :]
    names = Names()
    names.add(name)
    assert dict(names.misspelled([word])) == {word: name}


def test_long_names_take_no_memory_and_are_not_compared() -> None:
    digits = random.Random(1)
    long = "a" + "".join(digits.choices("0123456789abcdef", k=8_000))
    names = Names()
    names.add(f"{long} some_name")
    tracemalloc.start()
    try:
        assert list(names.misspelled(["some_nume", f"{long[:4000]}x{long[4000:]}"])) == [
            ("some_nume", "some_name")
        ]
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("length", "is_found"), [(MAX_WORD, True), (MAX_WORD + 1, False)])
def test_words_up_to_the_maximum_are_compared(length: int, is_found: bool) -> None:
    names = Names()
    names.add("n" * (length // 2) + "m" + "n" * (length - length // 2 - 1))
    word = "n" * length
    assert bool(list(names.misspelled([word]))) is is_found
