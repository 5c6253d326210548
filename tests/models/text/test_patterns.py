"""The size of an expression bounds the time of its check."""

from __future__ import annotations

import pytest

from symposia.models.guards import CheckedText, find_pattern_fault
from symposia.models.text.patterns import compile_pattern, pattern_size
from symposia.models.turns.turn import TurnOutcome


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("abc", 3),
        ("a|b", 2),
        ("a*b+c?", 3),
        ("a{3}", 3),
        ("a{2,5}b", 6),
        ("a{4,}", 4),
        ("(?:ab){3}", 6),
        ("(?P<x>a{2}b){3}c", 10),
        ("(?<x>ab)", 2),
        ("(?i)ab", 2),
        ("((a{2}){3}){4}", 24),
        (r"\p{L}{3}\x{41}", 4),
        (r"\{a\}", 3),
        ("[a-z]{20}", 20),
        ("[]{9}x]{2}", 2),
        ("[^]{9}x]{2}", 2),
        (r"[\]{9}]{2}", 2),
        ("[[:alpha:]{9}]{2}", 2),
        ("", 1),
        ("a{0}", 1),
    ],
)
def test_repetitions_count(pattern, size):
    compile_pattern(pattern)
    assert pattern_size(pattern) == size


def test_text_that_takes_too_long_is_refused():
    pattern = "(?:[ab]{1,900}a){9}[^ab]{2}"
    fault = find_pattern_fault(
        CheckedText.of_outcome(TurnOutcome.say("ab" * 10_000)), forbid=pattern, require=None
    )
    assert fault == f"must have at most 12328 characters to be checked with {pattern!r} (got 20000)"
    assert (
        find_pattern_fault(CheckedText.of_outcome(TurnOutcome.say("ab")), forbid=pattern, require=None)
        is None
    )


def test_usual_expression_checks_the_longest_message():
    text = CheckedText.of_outcome(TurnOutcome.say("ab" * 524_288))
    assert find_pattern_fault(text, forbid="sk-[a-z0-9]{20}", require="(?i)ab") is None
