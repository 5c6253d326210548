"""Checks of guards, as pure functions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.guards import (
    CheckedText,
    find_denied_word,
    find_length_fault,
    find_pattern_fault,
    find_schema_fault,
    matches,
    words_pattern,
)
from symposia.models.turns.items import NewItem
from symposia.models.turns.turn import Decision, TurnOutcome

WORDS = st.text(alphabet="abcXYZé-+. ", min_size=1, max_size=8).filter(
    lambda word: word == word.strip() != ""
)


def text_of(said):
    return CheckedText.of_outcome(TurnOutcome.say(said))


@given(
    st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs")), min_size=1, max_size=30),
    st.integers(0, 30),
    st.integers(1, 30),
)
def test_length_is_counted_in_characters(said, least, most):
    fault = find_length_fault(text_of(said), min_chars=least, max_chars=most)
    assert (fault is None) == (least <= len(said) <= most)


@given(st.lists(WORDS, min_size=1, max_size=5), st.text(alphabet="abcXYZé-+. \n", max_size=40))
def test_denied_words_are_whole_words_in_any_case(words, said):
    expected = any(
        re.search(rf"(?:^|\W){re.escape(word)}(?:\W|$)", said, re.IGNORECASE) is not None for word in words
    )
    assert matches(words_pattern(tuple(words)), said) == expected


@pytest.mark.parametrize("said", ["My SECRET.", "secret", "a\nsecret\n", "(secret)"])
def test_denied_word_is_found(said):
    assert find_denied_word(text_of(said), ("password", "secret")) == "must not contain the word 'secret'"


@pytest.mark.parametrize("said", ["secretary", "top-secretive", "secrets"])
def test_part_of_a_word_is_not_denied(said):
    assert find_denied_word(text_of(said), ("secret",)) is None


def test_reason_does_not_repeat_what_was_found():
    fault = find_pattern_fault(text_of("key sk-abc123"), forbid="sk-[a-z0-9]+", require=None)
    assert fault == "must not match 'sk-[a-z0-9]+'"


@pytest.mark.parametrize(
    "outcome",
    [
        TurnOutcome(decision=Decision(instructions={"ann": "sk-1"})),
        TurnOutcome(decision=Decision(reason="sk-1")),
        TurnOutcome(items=(NewItem(text="sk-1"),)),
        TurnOutcome(output={"a": [{"sk-1": 1}]}),
        TurnOutcome.ask("ann", "sk-1?"),
    ],
)
def test_forbidden_text_is_found_beside_the_messages(outcome):
    assert find_pattern_fault(CheckedText.of_outcome(outcome), forbid="sk-1", require=None)


def test_pass_is_not_checked_for_what_it_must_have():
    text = CheckedText.of_outcome(TurnOutcome.skip_turn())
    assert find_length_fault(text, min_chars=5, max_chars=None) is None
    assert find_pattern_fault(text, forbid=None, require="x") is None
    assert find_schema_fault(text, {"type": "object"}) is None


@pytest.mark.parametrize(("said", "is_valid"), [('{"a": 1}', True), ('{"a": "x"}', False), ("no", False)])
def test_schema_checks_the_text_as_json(said, is_valid):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert (find_schema_fault(text_of(said), schema) is None) == is_valid


def test_schema_checks_data_rather_than_text():
    outcome = TurnOutcome.say("text").model_copy(update={"output": {"a": 1}})
    assert find_schema_fault(CheckedText.of_outcome(outcome), {"required": ["a"]}) is None


def test_lone_surrogate_does_not_hide_a_forbidden_text():
    outcome = TurnOutcome(output=["\ud800 sk-1"])
    assert find_pattern_fault(CheckedText.of_outcome(outcome), forbid="sk-1", require=None)


@given(st.lists(st.sampled_from(["ab", "cd", "ef", "gh", "ij"]), min_size=1, unique=True), st.data())
def test_first_denied_word_is_named(words, data):
    said = data.draw(st.lists(st.sampled_from(["ab", "cd", "ef", "xy"]), min_size=1).map(" ".join))
    found = [word for word in words if word in said.split()]
    fault = find_denied_word(text_of(said), tuple(words))
    assert fault == (f"must not contain the word {found[0]!r}" if found else None)


@pytest.mark.parametrize("word", ["decision", "reason", "satisfied", "output", "question", "names", "text"])
def test_name_of_a_field_is_no_text(word):
    outcome = TurnOutcome(
        decision=Decision(reason="x"), output={"a": 1}, items=(NewItem(text="x"),)
    ).model_copy(update={"question": TurnOutcome.ask("ann", "why?").question})
    assert find_denied_word(CheckedText.of_outcome(outcome), (word,)) is None


def test_keys_of_data_are_texts():
    outcome = TurnOutcome(decision=Decision(instructions={"secret": "x"}))
    assert find_denied_word(CheckedText.of_outcome(outcome), ("secret",))
    assert find_denied_word(CheckedText.of_outcome(TurnOutcome(output={"secret": 1})), ("secret",))
