"""Checks of guards: each returns why a text is refused, in one line that does not repeat the text. Pure.

Expressions run in linear time, as those of output schemas.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import JsonValue

from ..outputs.patterns import matches
from ..outputs.reading import read_json
from ..outputs.schema import Schema, find_broken_rules
from ..text.redact import excerpt
from .checked_text import CheckedText
from .pattern_size import pattern_size

#: Maximum characters of a reason.
MAX_REASON = 500
#: Maximum product of the size of an expression and the characters of a text: a few seconds of processor time at worst.
MAX_STEPS = 100_000_000
#: Maximum faults of a schema that a reason names.
_MOST_FAULTS = 3


def find_length_fault(text: CheckedText, *, min_chars: int, max_chars: int | None) -> str | None:
    """Return why the length of a text is refused; None: it is not."""
    length = len(text.said)
    if max_chars is not None and length > max_chars:
        return f"must have at most {max_chars} characters (got {length})"
    if text.is_complete and length < min_chars:
        return f"must have at least {min_chars} characters (got {length})"
    return None


def find_pattern_fault(text: CheckedText, *, forbid: str | None, require: str | None) -> str | None:
    """Return the expression that a text must not match, or does not match; None: the text is not refused."""
    if forbid is not None:
        refused = f"must not match {excerpt(forbid)!r}"
        return _time_fault(forbid, text.everything) or (refused if matches(forbid, text.everything) else None)
    if require is not None and text.is_complete:
        refused = f"must match {excerpt(require)!r}"
        return _time_fault(require, text.said) or (None if matches(require, text.said) else refused)
    return None


def _time_fault(pattern: str, text: str) -> str | None:
    """Return why a check would take too long; None: it does not."""
    most = MAX_STEPS // pattern_size(pattern)
    if len(text) <= most:
        return None
    return f"must have at most {most} characters to be checked with {excerpt(pattern)!r} (got {len(text)})"


def find_denied_word(text: CheckedText, words: Sequence[str]) -> str | None:
    """Return the first of the words that a text contains; None: it contains none."""
    if not matches(words_pattern(words), text.everything):
        return None
    found = words
    while len(found) > 1:  # an expression for every word would take seconds
        half = found[: len(found) // 2]
        found = half if matches(words_pattern(half), text.everything) else found[len(half) :]
    return f"must not contain the word {excerpt(found[0])!r}"


def find_schema_fault(text: CheckedText, schema: Schema) -> str | None:
    """Return why the data of a turn, or its text as JSON, is invalid; None: it is valid, or there is none."""
    if not text.is_complete and text.data is None:
        return None
    value: JsonValue = text.data
    if value is None:
        try:
            value = read_json(text.said)
        except ValueError:
            return "must be JSON that is valid under the schema of the guard"
    faults = find_broken_rules(schema, value)
    listed = "; ".join(faults[:_MOST_FAULTS])
    return f"must be valid under the schema of the guard: {listed}"[:MAX_REASON] if faults else None


def words_pattern(words: Sequence[str]) -> str:
    """Return the expression that matches whole words in any case. A word may contain signs: `c++`."""
    listed = "|".join(re.escape(word) for word in words)
    return rf"(?i)(?:^|\W)(?:{listed})(?:\W|$)"
